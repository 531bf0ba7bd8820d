"""From what a person types to a subject: ``fast:standard``, ``reference:block``, ``mutant:NAME``, ``transformers``, ``module:object``."""

import importlib
import inspect
import shlex
import sys
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

from specproof.fast.from_function import from_function
from specproof.fast.loop_decoder import LoopDecoder
from specproof.fast.verifiers import VERIFIERS
from specproof.fast.verifiers.by_name import verifier_of
from specproof.fast.verifiers.composed import PAIRS, composed
from specproof.fast.verifiers.configured import configured
from specproof.integration import adapters
from specproof.integration.process.channel import Limits
from specproof.integration.process.verifier import ProcessVerifier
from specproof.integration.unavailable import Unavailable
from specproof.properties.bandit import is_bandit
from specproof.properties.builtin_bandits import BuiltIn, builtin_names
from specproof.properties.mutants import MUTANTS, mutant
from specproof.properties.subject import (
    Subject,
    subject_of_bandit,
    subject_of_decoder,
    subject_of_rule,
    subject_of_verifier,
)
from specproof.properties.verdict import Undecided
from specproof.reference.names import nearest
from specproof.reference.verifiers import rule, rule_names

PROMISES = ("policy", "policy_options", "reward", "declared_reward")  # what the maker of a bandit may declare
LIMITS = {"timeout": "seconds", "start": "start", "memory": "memory"}  # options of a process subject
SEVERAL = 2  # drafts that a rule for any number of them is certified with unless told

__version__ = metadata.version("specproof")


class UnknownSubject(ValueError):
    """A subject that cannot be named, imported or made; the message says what is allowed."""


def parse_options(pairs: list[str]) -> dict[str, Any]:
    """Read ``key=value`` pairs: integers, decimals, true, false and none become what they look like.

    Raises ``UnknownSubject`` for a pair without a key, or a key that is given twice.
    """
    options: dict[str, Any] = {}
    for pair in pairs:
        key, separator, text = pair.partition("=")
        if not separator or not key.isidentifier():
            raise UnknownSubject(f"an option is written key=value, got {pair!r}")
        if key in options:
            raise UnknownSubject(f"option {key!r} is given twice")
        options[key] = _value(text)
    return options


def _value(text: str) -> Any:
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def resolve(text: str, options: dict[str, Any] | None = None) -> Subject:
    """Return the subject that a name stands for. Raises ``UnknownSubject``; a process is started, nothing else is run."""
    given = options or {}
    family, separator, name = text.partition(":")
    try:
        if not separator or adapters.is_adapter(text):
            return _third_party(text, given)
        if family in FAMILIES:
            return FAMILIES[family](name, given)
        return _imported(family, name, given)
    except (TypeError, ValueError) as error:
        raise UnknownSubject(str(error)) from error


def _fast(name: str, options: dict[str, Any]) -> Subject:
    if name not in VERIFIERS:
        raise UnknownSubject(nearest("fast verifier", name, VERIFIERS))
    pair = name in PAIRS or "selector" in options
    found = composed(name, **options) if pair else configured(f"fast:{name}", VERIFIERS[name], options)
    return subject_of_verifier(found, name=f"fast:{name}", version=__version__, options=options)


def _loop(name: str, options: dict[str, Any]) -> Subject:
    drafts = options.get("drafts", 1)
    made = LoopDecoder(**{**options, "verifier": verifier_of(name, drafts)})
    return subject_of_decoder(made, name=f"loop:{name}", version=__version__, options=options)


def _mutant(name: str, options: dict[str, Any]) -> Subject:
    _take_no(options, f"mutant:{name}")
    return mutant(name)


def _take_no(options: dict[str, Any], subject: str) -> None:
    if options:
        raise UnknownSubject(nearest(f"option of {subject}", next(iter(options)), []))


def _reference(name: str, options: dict[str, Any]) -> Subject:
    own = {key: Fraction(str(value)) if isinstance(value, float) else value for key, value in options.items()}
    drafts = own.pop("drafts", None)
    given = rule(name, **own)
    if drafts is None:
        drafts = SEVERAL if given.paths is None else given.paths
    if not isinstance(drafts, int) or drafts < 1 or given.paths not in (None, drafts):
        raise UnknownSubject(f"reference:{name} verifies {given.paths or 'one or more'} draft(s), got drafts={drafts}")
    return subject_of_rule(given, name=f"reference:{name}", version=__version__, drafts=drafts, options=options)


def _bandit(name: str, options: dict[str, Any]) -> Subject:
    own = {key: value for key, value in options.items() if key != "reward"}
    rewarded = {"reward": options["reward"]} if "reward" in options else {}
    made = BuiltIn(name, own, **rewarded)
    return subject_of_bandit(made, name=f"bandit:{name}", version=__version__, options=options)


def _third_party(name: str, options: dict[str, Any]) -> Subject:
    if not adapters.is_adapter(name):
        ours = [*(f"fast:{fast}" for fast in VERIFIERS), *(f"reference:{rule}" for rule in rule_names())]
        raise UnknownSubject(nearest("subject", name, [*adapters.ADAPTERS, *ours, "mutant:NAME", "module:object"]))
    version = "unknown"
    try:
        found = adapters.located(name)
        version = found.version
        made = adapters.load(name, found, **options)
        describes = subject_of_decoder if hasattr(made, "decode") else subject_of_verifier
        return describes(made, name=name, version=version, options=options)
    except Unavailable as reason:
        return Subject(name, "verifier", version, unavailable=str(reason), options=options)


def _process(command: str, options: dict[str, Any]) -> Subject:
    """A process subject; it is started, because it alone knows what it can do."""
    name = f"process:{command}"
    for option in options:
        if option not in LIMITS:
            raise UnknownSubject(nearest(f"option of {name}", option, LIMITS))
    limits = Limits(**{LIMITS[option]: value for option, value in options.items()})
    if not shlex.split(command):
        raise UnknownSubject("a process subject is written process:COMMAND, as in 'process:./verifier --port 1'")
    try:
        verifier = ProcessVerifier(shlex.split(command), limits)
        return subject_of_verifier(verifier, name=name, version=verifier.__version__, options=options)
    except Undecided as reason:
        return Subject(name, "verifier", "unknown", unavailable=str(reason), options=options)


def imported(module_name: str, path: str) -> Any:
    """An object of the caller's own, from the folder where the command runs. Raises ``UnknownSubject``."""
    where = str(Path.cwd())
    if where not in sys.path:  # like ``python -m``: the caller's own file is next to them
        sys.path.insert(0, where)
    try:
        found: Any = importlib.import_module(module_name)
    except ImportError as error:
        raise UnknownSubject(f"cannot import module {module_name!r}: {error}") from error
    for part in path.split("."):
        if not hasattr(found, part):
            names = [name for name in vars(found) if not name.startswith("_")]
            raise UnknownSubject(nearest(f"object of module {module_name}", part, names))
        found = getattr(found, part)
    return found


def _imported(module_name: str, path: str, options: dict[str, Any]) -> Subject:
    """A verifier, a class or factory of one when options are given, or a plain function."""
    found = imported(module_name, path)
    title = f"{module_name}:{path}"
    if _makes_bandits(found):
        return subject_of_bandit(_partly(found, title, options), name=title, version=_version(found), options=options)
    if inspect.isclass(found) or (options and callable(found)):
        _check_options(found, title, options)
        found = found(**options)
    return describe(found, name=title, options=options)


def _check_options(function: Any, title: str, options: dict[str, Any]) -> None:
    allowed = inspect.signature(function).parameters
    for option in options:
        if option not in allowed:
            raise UnknownSubject(nearest(f"option of {title}", option, allowed))


def _makes_bandits(found: Any) -> bool:
    """Whether it is a bandit, a class of bandits, or a function that makes one: those take ``arms``."""
    return is_bandit(found) or (inspect.isfunction(found) and "arms" in inspect.signature(found).parameters)


def _partly(maker: Any, title: str, options: dict[str, Any]) -> Any:
    """The maker with some of its arguments given; what it declares stays declared."""
    if not options:
        return maker
    if not callable(maker):
        raise UnknownSubject(f"{title} is an object, which takes no options; give the class or function that makes it")
    _check_options(maker, title, options)
    made = partial(maker, **options)
    for promise in PROMISES:
        if hasattr(maker, promise):
            setattr(made, promise, getattr(maker, promise))
    return made


def _version(found: Any) -> str:
    return str(getattr(found, "__version__", "unversioned"))


def describe(found: Any, *, name: str | None = None, options: dict[str, Any] | None = None) -> Subject:
    """Return a subject for any object: a subject itself, a verifier, or a plain function (see ``from_function``)."""
    if isinstance(found, Subject):
        return found
    named = (getattr(it, "__name__", None) for it in (found, getattr(found, "function", None)))
    title = name or next(filter(None, named), type(found).__name__)
    if _makes_bandits(found):
        return subject_of_bandit(found, name=title, version=_version(found), options=options)
    if callable(getattr(found, "decode", None)):
        return subject_of_decoder(found, name=title, version=_version(found), options=options)
    if inspect.isfunction(found):
        found = from_function(found)
    version = _version(found)
    return subject_of_verifier(found, name=title, version=version, options=options)


FAMILIES: dict[str, Callable[[str, dict[str, Any]], Subject]] = {
    "fast": _fast, "loop": _loop, "reference": _reference, "bandit": _bandit, "process": _process, "mutant": _mutant,
}  # fmt: skip


def catalogue() -> list[tuple[str, str, str]]:
    """Every named subject: name, version or what is missing, and what it is."""
    rows = []
    for name, entry in adapters.ADAPTERS.items():
        try:
            rows.append((name, ", ".join(adapters.versions(name)), entry.about))
        except Unavailable as reason:
            rows.append((name, "missing", f"{entry.about} ({reason})"))
    rows += [(f"fast:{name}", __version__, _first_line(module)) for name, module in VERIFIERS.items()]
    rows.append(
        ("loop:VERIFIER", __version__, "the generation loop with a verifier; VERIFIER+SELECTOR for several drafts")
    )
    rows += [(f"reference:{name}", __version__, "exact rule") for name in rule_names()]
    rows += [(f"bandit:{name}", __version__, "policy for choosing among drafters") for name in builtin_names()]
    rows += [(f"mutant:{name}", "1", given.fault) for name, given in MUTANTS.items()]
    rows.append(("process:COMMAND", "", "a verifier in a process of its own, spoken to in JSON lines"))
    return [*rows, ("module:object", "", "your own: a verifier, a bandit, or a function for specproof.from_function")]


def _first_line(module: Any) -> str:
    return (inspect.getdoc(module) or "").splitlines()[0].rstrip(".")
