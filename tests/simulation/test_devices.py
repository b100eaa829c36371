import numpy as np
import pytest

from coterie.simulation import devices


def test_log_normal_devices_have_their_median_and_spread():
    made = devices.log_normal(1, 20_000, 500.0, 1e5, (0.5, 1.0))
    assert np.median(made.speed) == pytest.approx(500, rel=0.03)
    assert np.log(made.speed).std() == pytest.approx(0.5, rel=0.03)
    assert np.log(made.bandwidth).std() == pytest.approx(1.0, rel=0.03)
    assert abs(np.corrcoef(made.speed, made.bandwidth)[0, 1]) < 0.03


def test_speed_can_be_coupled_to_data():
    alike = devices.log_normal(1, 4, 100.0, 1e5, (0.0, 0.0))
    sizes = np.array([0, 10, 20, 50])
    np.testing.assert_allclose(devices.by_size(alike, sizes, 1.0).speed, [5, 50, 100, 250])
    np.testing.assert_allclose(devices.by_size(alike, sizes, -1.0).speed[1:], [200, 100, 40])


def test_time_is_work_over_speed_and_bytes_over_bandwidth():
    made = devices.Devices.plain(np.array([10.0, 20.0]), np.array([100.0, 50.0]))
    np.testing.assert_allclose(made.seconds(np.array([1, 0]), np.array([60, 60]), np.array([100, 100])), [5, 7])


def test_strong_devices_are_stronger_in_everything():
    alike = devices.log_normal(1, 50, 100.0, 1e5, (0.0, 0.0))
    made = devices.tiers(alike, 1, 0.2, 4.0)
    strong = made.speed > 100
    assert strong.sum() == 10
    assert not np.array_equal(strong, devices.tiers(alike, 2, 0.2, 4.0).speed > 100)
    for name, usual, then in [("speed", 100, 400), ("bandwidth", 1e5, 4e5), ("ram", 4, 16), ("latency", 0.05, 0.0125)]:
        np.testing.assert_allclose(getattr(made, name), np.where(strong, then, usual))
    assert made.columns["cpu"].tolist() == np.where(strong, 4.0, 1.0).tolist()


def test_a_table_gives_each_client_its_line_or_draws_lines(tmp_path):
    path = tmp_path / "devices.csv"
    path.write_text("speed,bandwidth\n1,10\n2,20\n3,30\n")
    table = devices.read_table(str(path))
    np.testing.assert_array_equal(devices.from_table(1, 3, table).bandwidth, [10, 20, 30])
    drawn = devices.from_table(1, 600, table)
    np.testing.assert_array_equal(drawn.bandwidth, 10 * drawn.speed)
    np.testing.assert_allclose(np.bincount(drawn.speed.astype(int))[1:], 200, atol=45)


@pytest.mark.parametrize(
    "text",
    ["", "speed,bandwidth\n", "speed,bandwidth\n0,1\n", "speed\n1\n", "speed,bandwidth\nx,1\n", "speed,bandwidth\nnan,1\n"],
)
def test_broken_tables_are_refused(tmp_path, text):
    path = tmp_path / "devices.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"devices\.csv"):
        devices.read_table(str(path))
