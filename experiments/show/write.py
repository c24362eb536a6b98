"""A page as files: one HTML file that holds its pictures, and Markdown with the pictures in a folder beside it."""

import base64
import html
import re
from pathlib import Path

import markdown

from experiments.show.page import Page

TYPES = {".svg": "image/svg+xml", ".gif": "image/gif"}

TEMPLATE = Path(__file__).with_name("report.html")


def write(page: Page, path: Path) -> tuple[Path, Path]:
    """Write the page to ``path`` (HTML) and beside it as Markdown; return both paths."""
    folder = path.with_name(f"{path.stem}_figures")
    folder.mkdir(exist_ok=True)
    for name, picture in page.pictures.items():
        (folder / name).write_bytes(picture)
    text = path.with_suffix(".md")
    text.write_text(page.text.replace("{figures}", folder.name), encoding="utf-8")
    path.write_text(to_html(page), encoding="utf-8")
    return path, text


def to_html(page: Page) -> str:
    """The page as one HTML file without a link to anything outside."""

    def inline(match: re.Match[str]) -> str:
        picture = base64.b64encode(page.pictures[match[1]]).decode()
        return f'src="data:{TYPES[Path(match[1]).suffix]};base64,{picture}"'

    body = markdown.markdown(page.text, extensions=["tables", "fenced_code"])
    body = re.sub(r'src="{figures}/([^"]+)"', inline, body)
    body = body.replace("<table>", '<div class="scroll"><table>').replace("</table>", "</table></div>")
    title = html.escape(page.text.partition("\n")[0].strip("# ").replace("`", ""))
    return TEMPLATE.read_text("utf-8").replace("{title}", title).replace("{body}", body)
