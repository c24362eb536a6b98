"""A page in Markdown with its pictures: as one HTML file that holds them, and as Markdown with a folder beside it."""

import base64
import html
import re
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path

import markdown
from matplotlib.figure import Figure
from rich import filesize

from experiments.disk.folders import display, inside
from experiments.show.text import line
from trainables.checks import ConfigError
from trainables.files import replace_text, replacing

MEDIA_TYPES = {".svg": "image/svg+xml", ".gif": "image/gif"}
"""What a browser calls the kinds of pictures, by the ends of their names."""

RAW = ("html", "entity", "link", "autolink", "automail", "reference", "short_reference", "image_reference")
"""Markdown's notations that a page does not need, and that let through what stands in a text."""

TEMPLATE = Path(__file__).with_name("report.html")

INK, GREY, GRID, PAPER = "#333333", "#bbbbbb", "#eaeaea", "#ffffff"
"""Colours of all figures for letters and axes, for what stands back, for the grid, and for the ground."""

BLUE = "#0072b2"
"""The first colour of curves, Okabe and Ito's; the others suit dark pages, too."""

IN_THE_DARK = {INK: "#dddddd", GREY: "#777777", GRID: "#303439", PAPER: "#16181b", BLUE: "#5b8cff"}
"""What takes the place of these colours where a reader has dark pages."""


@dataclass
class Page:
    """Markdown that names its pictures as ``{figures}/NAME``, and the pictures' bytes by name."""

    text: str = ""
    pictures: dict[str, bytes] = field(default_factory=dict)

    def add(self, text: str) -> None:
        """Add a paragraph, a heading, a list or a table."""
        self.text += text.rstrip() + "\n\n"

    def add_section(self, title: str, introduction: str = "") -> None:
        """Add a heading and an introduction below it, unless the page has the heading."""
        if f"## {title}\n" not in self.text:
            self.add(f"## {title}\n\n{introduction}")

    def show(self, **figures: Figure) -> None:
        """Add figures by name: side by side, if the screen is wide enough. A second one of a name has a number."""
        shown = []
        for wanted, figure in figures.items():
            name = wanted
            if f"{name}.svg" in self.pictures:
                name = f"{wanted}_{len(self.pictures)}"
            buffer = BytesIO()
            figure.savefig(buffer, format="svg", metadata={"Date": None})
            self.pictures[f"{name}.svg"] = _with_dark_colours(buffer.getvalue())
            shown.append(f"![{name.replace('_', ' ')}]({{figures}}/{name}.svg)")
        self.add("\n".join(shown))


def _with_dark_colours(svg: bytes) -> bytes:
    """The figure with a style of its own for readers of dark pages, which a browser heeds in an <img>, too."""
    rules = ""
    for light, dark in IN_THE_DARK.items():
        for kind in ("fill", "stroke"):
            rules += f'[style*="{kind}: {light}"]{{{kind}: {dark} !important}}'
    style = f"<defs><style>@media (prefers-color-scheme: dark){{{rules}}}</style></defs>"
    return svg.replace(b"<defs>", style.encode() + b"<defs>", 1)


def publish(page: Page, out: Path | None, experiment: Path, name: str) -> None:
    """Write the page to ``out``, or if that is None as ``name`` into an experiment's folder, and print where.

    Beside the HTML file stands the same as Markdown. Raises ConfigError if they cannot be written there.
    """
    path = out or inside(experiment, name)
    if path.suffix == ".md" or path.is_dir():
        example = path / name if path.is_dir() else path.with_suffix(".html")
        raise ConfigError(f"--out {path}: accepted is the HTML page's name, as {example}; Markdown is beside it")
    try:
        folder = inside(path.parent, f"{path.stem}_figures")
        folder.mkdir(exist_ok=True)
        for picture, content in page.pictures.items():
            with replacing(inside(folder, picture)) as file:
                file.write(content)
        replace_text(path.with_suffix(".md"), page.text.replace("{figures}", folder.name))
        if out and out.exists() and (out.is_symlink() or not out.is_file()):
            # --out may be a link, a pipe or a device, which a new file must not replace.
            out.write_text(to_html(page), encoding="utf-8")
        else:
            replace_text(path, to_html(page))
    except OSError as error:
        raise ConfigError(f"--out {path} cannot be written: {error.strerror}") from None
    for written in (path, path.with_suffix(".md")):
        line(f"{display(written.absolute())}  ({filesize.decimal(written.stat().st_size)})")


def to_html(page: Page) -> str:
    """The page as one HTML file without a link to anything outside.

    What stands in the page's text as HTML, a link or an address stays text, and pictures are the page's own.
    """

    def inline(match: re.Match[str]) -> str:
        """An <img> with the page's picture inside; one that shows none of the page's pictures as text."""
        source = re.search(r'src="{figures}/([^"]+)"', match[0])
        if not source or source[1] not in page.pictures:
            return html.escape(match[0])
        picture = base64.b64encode(page.pictures[source[1]]).decode()
        media_type = MEDIA_TYPES[Path(source[1]).suffix]
        return match[0].replace(source[0], f'src="data:{media_type};base64,{picture}"')

    converter = markdown.Markdown(extensions=["tables", "fenced_code"])
    converter.preprocessors.deregister("html_block")
    for name in RAW:
        converter.inlinePatterns.deregister(name)
    body = converter.convert(page.text)
    body = re.sub("<img [^>]*>", inline, body)
    body = body.replace("<table>", '<div class="scroll"><table>').replace("</table>", "</table></div>")
    title = html.escape(page.text.partition("\n")[0].strip("# ").replace("`", ""))
    parts = {"{title}": title, "{body}": body}
    # Both are put in at once: what the page says may contain the text {body}.
    return re.sub(r"{title}|{body}", lambda match: parts[match[0]], TEMPLATE.read_text("utf-8"))
