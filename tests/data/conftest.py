import pytest

from coterie.data.sources import places


@pytest.fixture(scope="session", autouse=True)
def user_cache(tmp_path_factory):
    """Features of toy data stay out of the user's cache, whose place this is."""
    theirs = places.cache()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield theirs
