"""The interface described for programs: an OpenAPI document made from the model's own schema."""

from __future__ import annotations

from typing import Any

from tilth.serve.service import Service

_ERRORS = {
    400: "A body that cannot be read.",
    401: "The token is missing or wrong.",
    408: "The body came too slowly.",
    413: "Too many bytes or rows.",
    415: "A content type or an encoding that is not accepted.",
    422: "Rows that do not fit the schema; each problem names the row, the field and what was expected.",
    503: "Too much work at once; try again after Retry-After.",
    504: "The answer took too long.",
}


def document(service: Service, secured: bool) -> dict[str, Any]:
    """The OpenAPI 3.1 document of a served model."""
    fields, model = service.fields, service.answerer
    row = {k: v for k, v in fields.json_schema().items() if k != "$schema"}
    columns = {f.name: {"type": "array", "items": f.json_schema()} for f in fields.fields}
    many = {"type": "array", "items": _ref("Row"), "minItems": 1, "maxItems": service.limits.max_rows}
    body = {
        "required": True,
        "content": {
            "application/json": {
                "schema": {
                    "oneOf": [
                        _ref("Row"),
                        *(_object({key: many}) for key in ("rows", "dataframe_records")),
                        _object({"columns": _object(columns)}),
                    ]
                },
                "example": {"rows": [fields.example()]},
            },
            "text/csv": {"schema": {"type": "string", "description": "A header line and rows."}},
        },
    }
    extra = {
        "name": "extra",
        "in": "query",
        "description": "What to do with fields the model was not trained on.",
        "schema": {"enum": ["refuse", "ignore"], "default": "refuse"},
    }
    errors = {str(status): _answer(text, "Error") for status, text in _ERRORS.items()}
    asking = {"parameters": [extra], "requestBody": body}
    paths: dict[str, Any] = {
        "/predict": {"post": {
            "summary": f"Predict {fields.target or 'rows'}.", **asking,
            "responses": {"200": _answer("One answer, or a list of them.", "Answers"), **errors},
        }},
        "/explain": {"post": {
            "summary": f"Predict and explain; at most {service.limits.max_explained} rows.", **asking,
            "responses": {"200": _answer("Answers, each with an explanation.", "Answers"), **errors},
        }},
        "/health": _get("Whether the server answers; needs no token."),
        "/schema": _get("JSON schema of a row."),
        "/card": _get("Facts about the model file."),
        "/metrics": _get("Counts, latencies and drift, for Prometheus, or as JSON with ?format=json."),
        "/openapi.json": _get("This document."),
    }  # fmt: skip
    components: dict[str, Any] = {"schemas": {"Row": row, **_answers(model.keys, model.gives), "Error": _ERROR}}
    if secured:
        components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": f"{model.name}: {fields.target or 'predictions'}",
            "version": service.version,
            "description": f"Model {service.model_id or 'in memory'}.",
        },
        "paths": paths,
        "components": components,
        **({"security": [{"token": []}]} if secured else {}),
    }


_ERROR = {
    "type": "object",
    "properties": {
        "error": {
            "type": "object",
            "properties": {
                "status": {"type": "integer"},
                "code": {"type": "string"},
                "message": {"type": "string"},
                "problems": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "row": {"type": ["integer", "null"]},
                            **{key: {"type": ["string", "null"]} for key in ("field", "expected", "found", "message")},
                        },
                    },
                },
            },
        }
    },
}


def _answers(classes: list[str], gives: list[str]) -> dict[str, Any]:
    number: dict[str, Any] = {"type": ["number", "null"]}
    by_class = {"type": "object", "properties": dict.fromkeys(classes, number)}
    level = {"level": {"type": "number"}}
    parts: dict[str, Any] = {
        "probabilities": by_class,
        "scores": {},
        "p_value": number,
        "set": {"type": "object", "properties": {"classes": {"type": "array"}, **level}},
        "interval": {"type": "object", "properties": {"low": number, "high": number, **level}},
    }
    note = {"type": "object", "properties": {key: {"type": "string"} for key in ("field", "code", "message")}}
    signature = {"model_id": {"type": "string"}, "version": {"type": "string"}}
    answer = {
        "type": "object",
        "properties": {"prediction": {}, **{k: parts[k] for k in gives}, "warnings": {"type": "array", "items": note}},
    }
    number_of = {"type": "integer", "minimum": 0}
    kind = {
        "type": "object",
        "description": "Warnings of one field and code: in how many rows, in how many of them told, the first rows.",
        "properties": {
            **{key: {"type": "string"} for key in ("field", "code")},
            **{key: number_of for key in ("count", "told")},
            "rows": {"type": "array", "items": number_of},
        },
    }
    listed = {
        "type": "object",
        "properties": {
            "predictions": {"type": "array", "items": _ref("Answer")},
            "warnings": {"type": "array", "items": kind},
            **signature,
        },
    }
    return {"Answer": answer, "Answers": {"oneOf": [_ref("Answer"), listed]}}


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _answer(text: str, schema: str) -> dict[str, Any]:
    return {"description": text, "content": {"application/json": {"schema": _ref(schema)}}}


def _get(summary: str) -> dict[str, Any]:
    return {"get": {"summary": summary, "responses": {"200": {"description": "As said."}}}}
