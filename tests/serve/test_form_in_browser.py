"""The form in a browser: the answer follows every change, hostile names do nothing, nothing else is loaded."""

import shutil

import numpy as np
import pandas as pd
import pytest

import tilth

webdriver = pytest.importorskip("selenium.webdriver")

HOSTILE = '"><img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'


@pytest.fixture
def browser(tmp_path):
    found = next((p for p in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if p), None)
    driver = shutil.which("chromedriver")
    if found is None or driver is None:
        pytest.skip("there is no Chromium with its driver here")
    options = webdriver.ChromeOptions()
    options.binary_location = found
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    opened = webdriver.Chrome(options, webdriver.ChromeService(driver))
    yield opened
    opened.quit()


def test_the_answer_follows_the_form(browser, running, tmp_path):
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import Select, WebDriverWait

    n = 40
    frame = pd.DataFrame({"size": np.arange(float(n)), HOSTILE: ["<b>a</b>", HOSTILE] * (n // 2)})
    labels = np.where(np.arange(n) < n // 2, "<i>small</i>", HOSTILE)
    path = tilth.save(tilth.NaiveBayes().fit(frame, labels), tmp_path / "model.tilth")
    with running(path, "-q") as (_, told):
        browser.get(told["url"])
        place = browser.find_element(By.ID, "answer")
        assert "The answer will appear here" in place.text
        browser.find_element(By.ID, "c0").send_keys("2")
        WebDriverWait(browser, 30).until(lambda _: "<i>small</i>" in place.text and "Take care" in place.text)
        Select(browser.find_element(By.ID, "c1")).select_by_value(HOSTILE)
        WebDriverWait(browser, 30).until(lambda _: "Take care" not in place.text)
        assert len(place.find_elements(By.TAG_NAME, "progress")) == 2
        browser.get(told["url"] + "docs")
        assert HOSTILE in browser.find_element(By.TAG_NAME, "main").text
        assert browser.execute_script("return window.hacked") is None
        loaded = browser.execute_script("return performance.getEntriesByType('resource').map(e => e.name)")
        assert loaded
        assert all(name.startswith(told["url"]) for name in loaded)
        said = [line["message"] for line in browser.get_log("browser") if "favicon" not in line["message"]]
        assert said == []
