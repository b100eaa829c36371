import numpy as np
import pytest

import coterie.data as data
from coterie.data.features import features_of
from coterie.data.sources.places import cache


@pytest.fixture(scope="module")
def digits():
    return data.load("digits")


def test_principal_components_are_those_of_a_plain_decomposition(digits):
    flat = digits.x.reshape(len(digits), -1).astype(float)
    flat -= flat.mean(axis=0)
    expected = np.linalg.svd(flat, full_matrices=False)
    found = features_of(digits, "pca", keep=False)
    assert found.shape == (1438, 50) and found.dtype == np.float32
    assert np.abs(found) == pytest.approx(np.abs(expected[0] * expected[1])[:, :50], abs=1e-2)


def test_features_by_name_are_kept_and_a_torn_file_is_made_anew(digits):
    first = features_of(digits)
    path = next((cache() / "features").glob(f"{digits.fingerprint[:32]}-pca.npy"))
    assert np.array_equal(np.load(path), first)
    path.write_bytes(path.read_bytes()[:200])
    assert np.array_equal(features_of(digits), first) and np.array_equal(np.load(path), first)


def test_random_convolutions_are_the_same_for_everyone(digits):
    one, two = (features_of(digits, "random-convolution", keep=False) for _ in range(2))
    assert np.array_equal(one, two)
    from sklearn.linear_model import LogisticRegression

    half = len(digits) // 2
    score = LogisticRegression(max_iter=300).fit(one[:half], digits.y[:half]).score(one[half:], digits.y[half:])
    assert score > 0.85, "they tell digits apart"


def test_samples_that_are_no_images_have_random_features_too():
    made = data.synthetic(clients=4, sizes="equal")
    assert features_of(made, "random-convolution", keep=False).shape == (1600, 50)


def test_modules_are_run_in_evaluation_mode(digits):
    import torch

    module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Dropout(0.5))
    assert np.array_equal(features_of(digits, module), digits.x.reshape(len(digits), -1))


def test_pretrained_features_without_their_weights_say_what_to_install(digits):
    try:
        import efficientnet_lite_pytorch  # noqa: F401
    except ImportError:
        with pytest.raises(ValueError, match=r"pip install 'coterie\[features\]'"):
            features_of(digits, "efficientnet", keep=False)
    else:
        few = data.Dataset.of("few", digits.x[:20], digits.y[:20], digits.x[:2], digits.y[:2], classes=10)
        assert features_of(few, "efficientnet", keep=False).shape == (20, 1280)
