from pathlib import Path

from coterie.experiments import reference

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "experiment.md"


def test_the_page_is_what_the_code_says():
    written = "python -m coterie.experiments.reference > docs/reference/experiment.md writes it anew"
    assert PAGE.read_text(encoding="utf-8") == reference.page(), written
