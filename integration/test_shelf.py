"""Where packages are looked for, what is said when they are not there, and how they get there."""

import importlib
import inspect
import zipfile
from pathlib import Path

import pytest

from specproof.integration.adapters import ADAPTERS, is_adapter, load, located, versions
from specproof.integration.installing import NotInstalled, install
from specproof.integration.packages import PACKAGES, Package, package
from specproof.integration.shelf import COMPLETE, Located, locate, on_shelf, place
from specproof.integration.unavailable import Unavailable

ASCEND = PACKAGES["vllm-ascend"]


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty shelf."""
    monkeypatch.setenv("SPECPROOF_HOME", str(tmp_path))
    return tmp_path


def put(given: Package, version: str) -> Path:
    """Pretend that a version was installed."""
    folder = place(given, version)
    folder.mkdir(parents=True)
    (folder / COMPLETE).touch()
    return folder


def test_every_package_is_pinned_and_every_adapter_has_its_maker() -> None:
    """No name in the list leads nowhere."""
    for given in PACKAGES.values():
        assert given.versions, given.name
    for name, entry in ADAPTERS.items():
        module, _, function = entry.make.partition(".")
        make = getattr(importlib.import_module(f"specproof.integration.adapters.{module}"), function)
        assert next(iter(inspect.signature(make).parameters)) == "located", name
        assert name.partition(":")[0] in (entry.package, "vllm"), name


def test_missing_package_says_how_to_get_it(shelf: Path) -> None:
    """A missing target is unavailable with a reason, and so is a version that nobody pinned."""
    with pytest.raises(Unavailable, match=r"specproof install vllm-ascend$"):
        locate(ASCEND)
    with pytest.raises(Unavailable, match=r"install vllm-ascend==0\.13\.0"):
        locate(ASCEND, "0.13.0")
    with pytest.raises(Unavailable, match=r"9\.9 is not installed here; pinned are 0\.13\.0, "):
        locate(ASCEND, "9.9")
    with pytest.raises(ValueError, match="flashspec"):
        package("flaskspec")


def test_newest_version_is_taken_unless_one_is_named(shelf: Path) -> None:
    """``name`` is the newest on the shelf, ``name@version`` exactly that one; a half installed one is not there."""
    put(ASCEND, "0.13.0")
    put(ASCEND, "0.18.0")
    place(ASCEND, "0.23.0").mkdir()
    assert located("vllm-ascend:block").version == "0.18.0"
    assert located("vllm-ascend:block@0.13.0").root == place(ASCEND, "0.13.0")
    assert versions("vllm-ascend") == ["0.18.0", "0.13.0"]
    assert is_adapter("vllm-ascend:block@0.13.0")
    assert not is_adapter("vllm-ascend:blocks")


def test_changed_target_is_unavailable(shelf: Path) -> None:
    """A file that moved, a function that went, or an argument that came is reported with the name and version."""
    folder = put(ASCEND, "0.13.0")
    found = Located(ASCEND, "0.13.0", folder)
    with pytest.raises(Unavailable, match=r"vllm-ascend 0\.13\.0 has no file"):
        load("vllm-ascend", found)
    module = folder / "vllm_ascend/sample/rejection_sampler.py"
    module.parent.mkdir(parents=True)
    module.write_text("def rejection_random_sample_pytorch(output_token_ids, mode): pass")
    with pytest.raises(Unavailable, match=r"has no arguments \['cu_num_draft_tokens'"):
        load("vllm-ascend", found)
    module.write_text("")
    with pytest.raises(Unavailable, match="does not exist"):
        load("vllm-ascend", found)
    with pytest.raises(ValueError, match="option of vllm-ascend"):
        load("vllm-ascend", found, drafts=3)


def wheel(folder: Path, name: str, files: dict[str, str]) -> None:
    """Write a wheel that pip takes."""
    info = f"{name}-1.0.dist-info"
    contents = {
        **files,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\nRequires-Dist: absent\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": "",
    }
    with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as archive:
        for path, text in contents.items():
            archive.writestr(path, text)


def test_install_keeps_the_named_files_and_no_requirements(shelf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wheel is unpacked without what it requires; a second time there is nothing to do; failure leaves nothing to use."""
    wheels = shelf / "wheels"
    wheels.mkdir()
    wheel(wheels, "enginez", {"enginez/kernels.py": "x = 1", "enginez/heavy.so": "..."})
    for setting, value in (("NO_INDEX", "1"), ("FIND_LINKS", str(wheels)), ("EXTRA_INDEX_URL", "")):
        monkeypatch.setenv(f"PIP_{setting}", value)
    given = Package("enginez", "enginez", "light", "light", keep=("*/kernels.py",))
    said: list[str] = []
    assert install(given, "1.0", said.append)
    assert (place(given, "1.0") / "enginez/kernels.py").read_text() == "x = 1"
    assert not (place(given, "1.0") / "enginez/heavy.so").exists()
    assert said == ["downloading enginez==1.0", "unpacking enginez==1.0"]
    assert not install(given, "1.0")
    with pytest.raises(NotInstalled, match=r"enginez==2\.0"):
        install(given, "2.0")
    assert not on_shelf(given, "2.0")
