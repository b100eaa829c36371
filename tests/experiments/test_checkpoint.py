import numpy as np

from coterie.experiments import checkpoint


def test_the_last_two_are_kept_and_the_newest_is_loaded(tmp_path):
    for t in (3, 7, 12):
        checkpoint.save(tmp_path, t, {"w": np.full(3, t)})
    assert checkpoint.rounds(tmp_path) == [12, 7]
    found, state = checkpoint.load(tmp_path)
    assert found == 12
    assert state["w"].tolist() == [12, 12, 12]


def test_nothing_there():
    from pathlib import Path

    assert checkpoint.load(Path("/nowhere")) == (0, None)


def test_a_limit_goes_further_back(tmp_path):
    checkpoint.save(tmp_path, 1, "one")
    checkpoint.save(tmp_path, 2, "two")
    assert checkpoint.load(tmp_path, limit=1) == (1, "one")
    checkpoint.cut(tmp_path, 1)
    assert checkpoint.rounds(tmp_path) == [1]


def test_a_torn_file_at_any_length_falls_back(tmp_path):
    checkpoint.save(tmp_path, 1, {"w": np.arange(50)})
    checkpoint.save(tmp_path, 2, {"w": np.arange(50)})
    newest = tmp_path / checkpoint.file_of(2)
    content = newest.read_bytes()
    for length in range(0, len(content), 37):
        newest.write_bytes(content[:length])
        assert checkpoint.load(tmp_path)[0] == 1, length


def test_a_pickle_in_its_place_is_not_opened(tmp_path):
    checkpoint.save(tmp_path, 1, "good")
    np.savez(tmp_path / checkpoint.file_of(2), tree=np.array([{"a": 1}], dtype=object))
    assert checkpoint.load(tmp_path) == (1, "good")


def test_the_same_state_is_the_same_bytes(tmp_path):
    for folder in ("a", "b"):
        checkpoint.save(tmp_path / folder, 1, {"w": np.arange(5), "t": (1, 2.5)})
    name = checkpoint.file_of(1)
    assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
