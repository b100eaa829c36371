import numpy as np
import pytest

from coterie import data


@pytest.fixture
def digits():
    return data.load("digits")


def test_whoever_held_a_sample_holds_it_again_whatever_the_seed(digits, tmp_path):
    made = data.shards(2).split(digits, 30, seed=4)
    made.save(tmp_path / "p.npz")
    for seed in (1, 2):
        read = data.Saved(str(tmp_path / "p.npz")).split(digits, 30, seed=seed)
        assert all(np.array_equal(np.sort(made[k]), np.sort(read[k])) for k in range(30))


def test_samples_that_nobody_holds_stay_so(digits, tmp_path):
    data.Partition.of(np.where(np.arange(len(digits)) < 10, 0, -1), 2, "by hand").save(tmp_path / "p.npz")
    assert data.Saved(str(tmp_path / "p.npz")).split(digits, 2).sizes.tolist() == [10, 0]


def test_another_number_of_clients_other_data_or_no_file_are_refused(digits, tmp_path):
    data.iid().split(digits, 30).save(tmp_path / "p.npz")
    kept = data.Saved(str(tmp_path / "p.npz"))
    with pytest.raises(ValueError, match="has 30 clients, not 20"):
        kept.split(digits, 20)
    with pytest.raises(ValueError, match="other data"):
        kept.split(data.load("regression"), 30)
    with pytest.raises(ValueError, match="no file"):
        data.Saved("nowhere.npz").split(digits, 30)
