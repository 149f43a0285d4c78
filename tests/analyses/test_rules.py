"""The rule files are sound, a user's file goes on top, and its faults are told in one sentence."""

import re
from pathlib import Path

import pytest

from stepprof.analyses.names import kind_of_name, role_of_name
from stepprof.analyses.rules import RoleRule, load_rules
from stepprof.analyses.vocabulary import KINDS, ROLES
from stepprof.profiler.errors import InputError

RULES = load_rules()


@pytest.mark.parametrize("rule", RULES.roles, ids=lambda rule: rule.id)
def test_a_rule_is_the_first_to_match_its_sample(rule: RoleRule):
    found = role_of_name(rule.sample)
    assert (found.role, found.rule_id) == (rule.role, rule.id)


@pytest.mark.parametrize("rule", RULES.roles, ids=lambda rule: rule.id)
def test_role_and_kind_of_a_sample_fit(rule: RoleRule):
    kind = kind_of_name(rule.sample)
    assert RULES.fits(rule.role, kind), f"{rule.role} {kind}"


def test_every_pattern_compiles_and_every_id_is_unique():
    rules = [*RULES.roles, *RULES.kinds, *RULES.ranges, *RULES.residents]
    assert len({rule.id for rule in rules}) == len(rules)
    for rule in rules:
        assert rule.regex.pattern == rule.pattern
    for marker in RULES.markers:
        assert re.compile(marker["pattern"])


def test_every_kind_has_a_rule_and_every_word_is_known():
    assert {rule.kind for rule in RULES.kinds} == set(KINDS)
    assert set(RULES.words.values()) <= set(ROLES)
    assert set(RULES.fit) <= set(ROLES)
    assert set().union(*RULES.fit.values()) <= set(KINDS)


def test_no_label_can_be_read_as_two_roles():
    assert not set(RULES.words) & set(ROLES)


@pytest.mark.parametrize("role", ["sidecar_gemm", "expert_gemm", "dense_gemm", "lm_head"])
def test_copies_do_not_fit_a_gemm_role_but_activations_do(role: str):
    fitting = [kind for kind in ("gemm", "elementwise", "quant", "reduce", "copy") if RULES.fits(role, kind)]
    assert fitting == ["gemm", "elementwise", "quant", "reduce"]


@pytest.mark.parametrize("role", ["attention", "norm", "unknown", "infra"])
def test_copies_and_unnamed_kinds_fit_elsewhere(role: str):
    assert RULES.fits(role, "copy") and RULES.fits(role, "other")


def test_a_users_rules_are_tried_first(tmp_path: Path):
    file = tmp_path / "mine.toml"
    file.write_text(
        """
        [[role]]
        pattern = 'nvjet_tst_8x64'
        role = "lm_head"

        [[kind]]
        id = "mine"
        pattern = 'my_kernel'
        kind = "sort"

        [[marker]]
        name = "ticks"
        pattern = '^tick/'
        phase = "verify"

        [[resident]]
        pattern = 'my_server'
        """
    )
    rules = load_rules(file)
    assert [(rule.id, rule.user) for rule in rules.residents] == [
        ("user.resident.1", True),
        ("resident.stepprof-sidecar", False),
    ]
    assert role_of_name("nvjet_tst_8x64_64x16", rules).role == "lm_head"
    assert role_of_name("nvjet_tst_8x64_64x16", rules).rule_id == "user.role.1"
    assert kind_of_name("my_kernel", rules=rules) == "sort"
    assert rules.markers[0] == {"name": "ticks", "pattern": "^tick/", "phase": "verify"}
    assert role_of_name("nvjet_tst_8x64_64x16").role == "dense_gemm", "the built-in rules are untouched"
    assert rules.roles[1:] == RULES.roles


def test_an_empty_users_file_changes_nothing(tmp_path: Path):
    file = tmp_path / "mine.toml"
    file.write_text("")
    assert load_rules(file).roles == RULES.roles


FAULTS = {
    "not TOML": ("[[role]\n", "mine.toml: is not valid TOML"),
    "unknown table": ("[[rolls]]\n", 'unknown table "rolls"; a rules file holds [[role]]'),
    "one bracket": ("[role]\n", "write [[role]] with two brackets"),
    "not a table": ("role = [3]\n", "[[role]] entry 1 is not a table"),
    "unknown key": (
        "[[role]]\npatern = 'x'\n",
        'line 1, [[role]] entry 1: unknown key "patern"; did you mean pattern or parts?',
    ),
    "no role": ("[[role]]\npattern = 'x'\n", '"role" is missing or empty; add it'),
    "unknown role": (
        "[[role]]\npattern = 'x'\nrole = 'norm'\n\n[[role]]\npattern = 'y'\nrole = 'atention'\n",
        'mine.toml, line 5, [[role]] entry 2: unknown role "atention"; did you mean attention',
    ),
    "unknown kind": ("[[kind]]\npattern = 'x'\nkind = 'qqq'\n", 'unknown kind "qqq"; known are gemm, '),
    "unknown phase": ("[[range]]\npattern = 'x'\nphase = 'drafts'\n", "did you mean draft?"),
    "unknown part": ("[[role]]\npattern = 'x'\nrole = 'norm'\nparts = ['nrom']\n", "did you mean norm"),
    "bad pattern": ("[[kind]]\npattern = '(x'\nkind = 'gemm'\n", "bad pattern '(x': missing ), unterminated"),
    "pattern is a number": ("[[kind]]\npattern = 3\nkind = 'gemm'\n", '"pattern" must be a string'),
    "parts is a string": ("[[role]]\npattern = 'x'\nrole = 'norm'\nparts = 'norm'\n", "must be a list of strings"),
    "call is a string": ("[[range]]\npattern = 'x'\ncall = 'yes'\n", '"call" must be true or false'),
    "resident without a pattern": ("[[resident]]\nid = 'x'\n", '[[resident]] entry 1: "pattern" is missing'),
    "marker without a name": ("[[marker]]\npattern = 'x'\n", '"name" is missing'),
}


@pytest.mark.parametrize(("text", "sentence"), FAULTS.values(), ids=FAULTS)
def test_a_fault_in_a_users_file_is_one_sentence(tmp_path: Path, text: str, sentence: str):
    file = tmp_path / "mine.toml"
    file.write_text(text)
    with pytest.raises(InputError) as error:
        load_rules(file)
    assert str(error.value).startswith(str(file))
    assert sentence in str(error.value)
    assert "\n" not in str(error.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path):
    with pytest.raises(InputError, match=r"missing\.toml: cannot be read \(No such file or directory\)"):
        load_rules(tmp_path / "missing.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="is not UTF-8 text"):
        load_rules(tmp_path / "binary.toml")
