# SPDX-License-Identifier: MIT
"""tools/release in a repository of its own, whose tests and packages are stand-ins."""
import hashlib
import os
import pathlib
import shutil
import subprocess
import tarfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
CHANGELOG = "# Changelog\n\n## Unreleased\n\n## 1.2.0 - 2026-01-31\n\n### Added\n\n- Much.\n\n## 1.1.0\n\n- Old.\n"
FILES = {
    "CMakeLists.txt": "project(shardwheel VERSION 1.2.0 LANGUAGES C)\n",
    "CHANGELOG.md": CHANGELOG,
    "src/store/schema/upgrade.h": "#define OWN_VERSION 4 /* of the tables */\n",
    "tools/test": "#!/bin/sh\necho tested >>../told\n[ ! -e ../tests-fail ]\n",
    "tools/package": '#!/bin/sh\n[ ! -e ../package-fails ] || exit 1\necho "made at $SOURCE_DATE_EPOCH" >"$2/x.deb"\n',
    ".gitignore": "build/\n",
}
ENVIRONMENT = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b",
               "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}


class Repository:
    def __init__(self, top):
        self.top = top
        for path, text in FILES.items():
            self.write(path, text)
            (top / path).chmod(0o755)
        shutil.copy(ROOT / "tools" / "release", top / "tools")
        self.git("init", "-q", "-b", "main")
        self.commit()
        self.write("tests/previous-release", f"# A word.\n{self.head()} 1.1.0\n")
        self.commit()

    def write(self, path, text):
        (self.top / path).parent.mkdir(parents=True, exist_ok=True)
        (self.top / path).write_text(text)

    def git(self, *arguments):
        return subprocess.run(["git", *arguments], cwd=self.top, env=ENVIRONMENT, check=True, text=True,
                              capture_output=True).stdout.strip()

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "x")

    def head(self):
        return self.git("rev-parse", "HEAD")

    def release(self, *arguments):
        return subprocess.run(["tools/release", *arguments], cwd=self.top, env=ENVIRONMENT, text=True,
                              capture_output=True)


@pytest.fixture
def repository(tmp_path):
    (tmp_path / "top").mkdir()
    return Repository(tmp_path / "top")


def test_a_release_is_made_tagged_and_recorded(repository):
    commit = repository.head()

    done = repository.release("1.2.0")

    assert done.returncode == 0, done.stderr
    assert repository.git("rev-parse", "v1.2.0^{commit}") == commit
    assert "### Added\n\n- Much." in repository.git("tag", "-l", "--format=%(contents)", "v1.2.0")
    assert repository.git("show", "HEAD:tests/previous-release").endswith(f"\n{commit} 1.2.0")
    assert repository.git("rev-parse", "HEAD^") == commit and not repository.git("status", "--porcelain")
    assert (repository.top.parent / "told").read_text() == "tested\n"
    out = repository.top / "build" / "dist" / "1.2.0"
    listed = dict(line.split("  ")[::-1] for line in (out / "SHA256SUMS").read_text().splitlines())
    assert sorted(listed) == ["shardwheel-1.2.0-source.tar.gz", "x.deb"]
    for name, digest in listed.items():
        assert hashlib.sha256((out / name).read_bytes()).hexdigest() == digest
    assert (out / "x.deb").read_text() == f"made at {repository.git('log', '-1', '--format=%ct', commit)}\n"
    with tarfile.open(out / "shardwheel-1.2.0-source.tar.gz") as sources:
        assert "shardwheel-1.2.0/CHANGELOG.md" in sources.getnames()
    assert "git push origin HEAD v1.2.0" in done.stdout

    again = repository.release("1.2.0")
    assert again.returncode == 1 and "tag v1.2.0 is there already" in again.stderr


def test_the_same_commit_makes_the_same_sources(repository):
    digests = set()
    for _ in range(2):
        repository.release("1.2.0", "--tested")
        archive = repository.top / "build/dist/1.2.0/shardwheel-1.2.0-source.tar.gz"
        digests.add(hashlib.sha256(archive.read_bytes()).hexdigest())
        repository.git("tag", "-d", "v1.2.0")
        repository.git("reset", "-q", "--hard", "HEAD^")
    assert len(digests) == 1


def test_dry_run_does_nothing(repository):
    commit = repository.head()
    done = repository.release("--dry-run", "1.2.0")
    assert done.returncode == 0 and "v1.2.0" in done.stdout, done.stderr
    assert repository.head() == commit and not repository.git("tag") and not (repository.top / "build").exists()
    assert not (repository.top.parent / "told").exists()


@pytest.mark.parametrize("what, why", [("tests-fail", "failed: tests"), ("package-fails", "failed: packages")])
def test_what_fails_leaves_no_tag(repository, what, why):
    commit = repository.head()
    (repository.top.parent / what).touch()
    done = repository.release("1.2.0")
    assert done.returncode == 1 and why in done.stderr, done.stderr
    assert repository.head() == commit and not repository.git("tag")


@pytest.mark.parametrize("version", ["", "1.2", "v1.2.0", "1.2.0-rc1", "01.2.0", "1.2.0; id", "1.2.0\n", "1.2١.0"])
def test_versions_that_are_none_are_refused(repository, version):
    done = repository.release("--dry-run", version)
    assert done.returncode == 1 and "is no version" in done.stderr


@pytest.mark.parametrize("path, text, why", [
    ("CMakeLists.txt", "project(shardwheel VERSION 1.3.0)\n", "says version 1.3.0, not 1.2.0"),
    ("CMakeLists.txt", "", "says version nothing"),
    ("CHANGELOG.md", "# Changelog\n\n## 1.1.0\n\n- Old.\n", "no section '## 1.2.0'"),
    ("CHANGELOG.md", "# Changelog\n\n## 1.2.0\n\n## 1.1.0\n\n- Old.\n", "no section '## 1.2.0'"),
    ("CHANGELOG.md", CHANGELOG.replace("## Unreleased\n", "## Unreleased\n\n- New.\n"), "under 'Unreleased'"),
    ("CHANGELOG.md", CHANGELOG.replace("### Added", "### News"), "'### News' is none of"),
    ("src/store/schema/upgrade.h", "#define OWN_VERSION 6\n", "version 6, those of 1.1.0 of 4"),
    ("src/store/schema/upgrade.h", "#define OWN_VERSION 3\n", "version 3, those of 1.1.0 of 4"),
    ("tests/previous-release", f"{'1' * 40} 1.1.0\n", "is not in this history"),
    ("tests/previous-release", "", "is not in this history"),
])
def test_what_is_wrong_is_named(repository, path, text, why):
    repository.write(path, text)
    repository.commit()
    done = repository.release("--dry-run", "1.2.0")
    assert done.returncode == 1 and why in done.stderr, done.stderr
    assert not done.stdout


def test_all_that_is_wrong_is_named_at_once(repository):
    repository.write("CMakeLists.txt", "")
    repository.write("new.txt", "")
    done = repository.release("1.9.0")
    assert done.returncode == 1
    for why in ("not committed: new.txt", "not committed: CMakeLists.txt", "says version nothing", "'## 1.9.0'"):
        assert why in done.stderr, done.stderr


def test_tables_one_version_on_are_fine(repository):
    repository.write("src/store/schema/upgrade.h", "#define OWN_VERSION 5\n")
    repository.commit()
    assert repository.release("--dry-run", "1.2.0").returncode == 0
