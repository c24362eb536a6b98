"""The notebooks, run as readers run them: from another folder, every cell; what they claim is asserted in them."""

import nbformat
import pytest
from nbclient import NotebookClient

from tests.helpers.programs import ROOT

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


def test_there_are_three_and_they_are_shown_with_their_outputs():
    assert len(NOTEBOOKS) == 3
    for path in NOTEBOOKS:
        cells = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
        assert [cell.execution_count for cell in cells] == [*range(1, len(cells) + 1)], "run from top to bottom"
        assert len([cell for cell in cells if cell.outputs]) > 1
        for cell in cells:
            for output in cell.outputs:
                assert output.output_type != "error"
                assert output.get("name") != "stderr"


def test_what_a_sweep_printed_is_shown_from_the_head_of_its_table_on():
    cells = nbformat.read(ROOT / "docs" / "notebooks" / "a_sweep_and_what_it_says.ipynb", as_version=4).cells
    sweeps = [cell for cell in cells if "!pong-sweep" in cell.source and "--dry-run" not in cell.source]
    assert len(sweeps) == 2
    for cell in sweeps:
        printed = "".join(output.text for output in cell.outputs)
        assert 0 < printed.index("iterations") < printed.index("seed=3757552657")


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_anew_in_another_folder_and_what_it_claims_is_so(path, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(notebook, kernel_name="python3", timeout=300, resources={"metadata": {"path": tmp_path}})

    def stop_heartbeats(cell, cell_index):
        """One that a kernel does not answer as it ends is sent anew, and then waited for without end."""
        client.kc.hb_channel.pause()

    client.on_cell_start = stop_heartbeats
    client.execute()
