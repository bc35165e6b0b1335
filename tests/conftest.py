"""Options of the suite."""


def pytest_addoption(parser):
    parser.addoption("--golden", action="store_true", help="write golden predictions anew")
