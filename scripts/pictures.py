"""Draw the pictures of the documentation with the library's own plots; needs no arguments."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs" / "pictures"
sys.path.insert(0, str(ROOT / "src"))

import tilth  # noqa: E402 - after the path is set
from tilth.evaluate.curves import complexity_curve  # noqa: E402
from tilth.evaluate.polynomial_orders import polynomial_orders  # noqa: E402
from tilth.models.select import SelectByRelevance, stability  # noqa: E402

TREES = 200
ROUNDS = 200


def figures() -> dict[str, Any]:
    """The figures by the names of their files."""
    weather = tilth.load_dataset("weather").frame
    credit = tilth.load_dataset("german_credit")
    train = credit.frame[:700]
    forest = tilth.RandomForestClassifier(n_estimators=TREES, oob_score=True, kinds=credit.kinds)
    forest.fit(train, credit.target)
    boosted = tilth.GradientBoostingClassifier(n_estimators=ROUNDS, kinds=credit.kinds)
    test = credit.frame[700:]
    boosted.fit(train, credit.target, eval_set=(test.drop(columns=credit.target), test[credit.target]))
    ada = tilth.AdaBoostClassifier(n_estimators=60, max_depth=3, kinds=credit.kinds).fit(train, credit.target)
    mpg = tilth.load_dataset("auto_mpg")
    line = tilth.LinearRegression(kinds=mpg.kinds).fit(mpg.frame, mpg.target)
    cars, miles = mpg.frame.drop(columns=mpg.target), mpg.frame[mpg.target]
    numbers = cars.select_dtypes("number").dropna()
    alike = (numbers - numbers.mean()) / numbers.std()
    tree = tilth.DecisionTreeClassifier(kinds=credit.kinds)
    return {
        "weather-tree": tilth.ID3().fit(weather, "Play").plot(),
        "out-of-bag": forest.plot_oob_curve(),
        "importance": forest.plot_importance(),
        "boosting": boosted.plot_curve(),
        "adaboost-bound": ada.plot_rounds(),
        "weights": line.estimates().plot(),
        "lasso-path": tilth.Lasso().path(alike, miles[alike.index]).plot(),
        "assumptions": line.assumption_report(cars, miles).plot(),
        "selection-stability": stability(SelectByRelevance(relevance="cfs", kinds=mpg.kinds), cars, miles).plot(),
        "polynomial-orders": polynomial_orders((1, 3, 9)).plot(),
        "depth-curve": complexity_curve(tree, credit.frame, credit.target, parameter="max_depth").plot(),
    }


def report_screen() -> None:
    """The first screen of a report as a browser shows it; without a browser the picture stays as it is."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        print("no browser: report.png was not drawn anew", file=sys.stderr)
        return
    with tempfile.TemporaryDirectory() as folder:
        made = tilth.run("titanic", budget=None, trials=4, out=folder).files["report.html"]
        quiet = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-background-networking")
        where = (f"--user-data-dir={folder}/profile", f"--screenshot={PICTURES / 'report.png'}")
        subprocess.run(
            [chromium, *quiet, *where, "--window-size=1280,620", made.as_uri()], check=True, stderr=subprocess.DEVNULL
        )


def main() -> None:
    """Write all of them."""
    report_screen()
    PICTURES.mkdir(exist_ok=True)
    for name, figure in figures().items():
        # Without the version of the drawing library, so that an unchanged picture is an unchanged file.
        figure.savefig(PICTURES / f"{name}.png", dpi=72, bbox_inches="tight", metadata={"Software": None})


if __name__ == "__main__":
    main()
