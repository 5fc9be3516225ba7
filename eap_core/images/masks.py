"""Which mask belongs to which image: by the folder's kind and the name without its ending."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from eap_core.images.words import Word, as_role, meaning
from eap_core.roles import Role

_SUFFIXES = ("_mask", "-mask", "_gt")


@dataclass(frozen=True)
class Filed:
    """A name taken apart at the first folder that means something."""

    name: str
    above: str
    word: Word | None
    below: tuple[tuple[str, Word | None], ...]

    @property
    def stem(self) -> str:
        """The name without folders and ending."""
        return PurePosixPath(self.name).stem.casefold()

    @property
    def below_role(self) -> Role | None:
        """The role that the folder right below the word names, if it does."""
        return as_role(self.below[0][1]) if self.below else None

    @property
    def kind(self) -> str:
        """The defect or generator: the folders below, without those that say something again."""
        return "/".join(folder.casefold() for folder, word in self.below if word is None)


def filed(name: str) -> Filed:
    """A name taken apart; a folder of generated images decides wherever it stands."""
    folders = name.split("/")[:-1]
    words = [meaning(folder) for folder in folders]
    telling = [i for i, word in enumerate(words) if word is not None]
    if not telling:
        return Filed(name, "/".join(folders), None, ())
    at = telling[0]
    if words[at] != "mask" and "candidate" in words:  # nothing generated may pass for real
        at = words.index("candidate")
    below = tuple(zip(folders[at + 1 :], words[at + 1 :], strict=True))
    return Filed(name, "/".join(folders[: telling[0]]), words[at], below)


def attach_masks(files: Sequence[Filed]) -> tuple[dict[str, str], list[str]]:
    """The mask of each image that has one, and the masks of no image."""
    found = _beside(files)
    taken = set(found.values())
    index = _index(file for file in files if file.word != "mask" and file.name not in taken)
    lone: list[str] = []
    for mask in (file for file in files if file.word == "mask"):
        owners = _owners(mask, index)
        if len(owners) == 1 and owners[0] not in found:
            found[owners[0]] = mask.name
        else:
            lone.append(mask.name)
    return found, lone


def _beside(files: Sequence[Filed]) -> dict[str, str]:
    """Masks that lie beside their image: 001.png and 001_mask.png."""
    images: dict[tuple[str, str], list[str]] = defaultdict(list)
    for file in files:
        images[_folder(file), file.stem].append(file.name)
    found: dict[str, str] = {}
    for file in files:
        bare = without_suffix(file.stem)
        owners = images.get((_folder(file), bare), []) if bare != file.stem else []
        if file.word != "mask" and len(owners) == 1:
            found[owners[0]] = file.name
    return found


def without_suffix(stem: str) -> str:
    """A mask's name without what marks it as a mask."""
    return next((stem.removesuffix(s) for s in _SUFFIXES if stem.endswith(s) and stem != s), stem)


def _folder(file: Filed) -> str:
    return file.name.rpartition("/")[0]


Key = tuple[str, str | None, str]


def _index(images: Iterable[Filed]) -> dict[Key, list[str]]:
    """Images that may have a mask by product, kind and stem, and by product and stem alone."""
    index: dict[Key, list[str]] = defaultdict(list)
    for image in images:
        if image.word is None:
            # No folder says where the product's name ends: any of them may be it.
            folders = image.above.split("/") if image.above else []
            for i in range(len(folders) + 1):
                index["/".join(folders[:i]), None, image.stem].append(image.name)
        elif "normal" not in (image.word, image.below_role) and image.word != "test_normal":
            index[image.above, image.kind, image.stem].append(image.name)
            index[image.above, None, image.stem].append(image.name)
    return index


def _owners(mask: Filed, index: dict[Key, list[str]]) -> list[str]:
    """The images a mask fits; where it lies in no folder of a kind, any kind will do."""
    kinds = (mask.kind,) if mask.kind else ("", None)
    for stem in dict.fromkeys((mask.stem, without_suffix(mask.stem))):
        for kind in kinds:
            if owners := index.get((mask.above, kind, stem)):
                return owners
    return []
