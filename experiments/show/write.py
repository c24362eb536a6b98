"""A page as files: one HTML file that holds its pictures, and Markdown with the pictures in a folder beside it."""

import base64
import html
import re
from pathlib import Path

import markdown
from rich import filesize

from experiments.record.folders import display, inside
from experiments.show.page import Page
from experiments.show.text import line
from trainables.checks import ConfigError
from trainables.files import replace_text, replacing

TYPES = {".svg": "image/svg+xml", ".gif": "image/gif"}

RAW = ("html", "entity", "link", "autolink", "automail", "reference", "short_reference", "image_reference")
"""Markdown's notations that a page does not need, and that let through what stands in a text."""

TEMPLATE = Path(__file__).with_name("report.html")


def write(page: Page, path: Path) -> tuple[Path, Path]:
    """Write the page to ``path`` (HTML) and beside it as Markdown; return both paths.

    Raises OSError, and ConfigError if the folder of figures is a link.
    """
    folder, text = inside(path.parent, f"{path.stem}_figures"), path.with_suffix(".md")
    folder.mkdir(exist_ok=True)
    for name, picture in page.pictures.items():
        with replacing(inside(folder, name)) as file:
            file.write(picture)
    replace_text(text, page.text.replace("{figures}", folder.name))
    if path.exists() and (path.is_symlink() or not path.is_file()):  # where --out may lead
        path.write_text(to_html(page), encoding="utf-8")
    else:
        replace_text(path, to_html(page))
    return path, text


def publish(page: Page, out: Path | None, experiment: Path, name: str) -> None:
    """Write the page to ``out``, or if that is None as ``name`` into an experiment's folder, and print where.

    Raises ConfigError if it cannot be written there.
    """
    path = out or inside(experiment, name)
    if path.suffix == ".md":
        raise ConfigError(
            f"--out {path}: accepted is the HTML page's name, as {path.with_suffix('.html')}; Markdown is beside it"
        )
    if out and path.is_dir():
        raise ConfigError(f"--out {path} is a folder: accepted is the HTML page's name, as {path / name}")
    if not out and path.exists() and not path.is_file():
        raise ConfigError(f"{path} is in the way: it is no file")
    try:
        files = write(page, path)
    except OSError as error:
        raise ConfigError(f"--out {path} cannot be written: {error.strerror}") from None
    for file in files:
        line(f"{display(file.absolute())}  ({filesize.decimal(file.stat().st_size)})")


def to_html(page: Page) -> str:
    """The page as one HTML file without a link to anything outside.

    What stands in the page's text as HTML, a link or an address stays text, and pictures are the page's own.
    """

    def inline(match: re.Match[str]) -> str:
        source = re.search(r'src="{figures}/([^"]+)"', match[0])
        if not source or source[1] not in page.pictures:
            return html.escape(match[0])
        picture = base64.b64encode(page.pictures[source[1]]).decode()
        return match[0].replace(source[0], f'src="data:{TYPES[Path(source[1]).suffix]};base64,{picture}"')

    converter = markdown.Markdown(extensions=["tables", "fenced_code"])
    converter.preprocessors.deregister("html_block")
    for name in RAW:
        converter.inlinePatterns.deregister(name)
    body = converter.convert(page.text)
    body = re.sub("<img [^>]*>", inline, body)
    body = body.replace("<table>", '<div class="scroll"><table>').replace("</table>", "</table></div>")
    title = html.escape(page.text.partition("\n")[0].strip("# ").replace("`", ""))
    parts = {"{title}": title, "{body}": body}
    return re.sub(r"{title}|{body}", lambda match: parts[match[0]], TEMPLATE.read_text("utf-8"))
