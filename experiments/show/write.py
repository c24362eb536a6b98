"""A page as files: one HTML file that holds its pictures, and Markdown with the pictures in a folder beside it."""

import base64
import html
import re
from pathlib import Path

import markdown

from experiments.show.page import Page

TYPES = {".svg": "image/svg+xml", ".gif": "image/gif"}

HTML = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ font: 16px/1.55 system-ui, sans-serif; color: #333; background: #fff;
       max-width: 76rem; margin: 0 auto; padding: 1rem 1.25rem 4rem; }}
h1 {{ font-size: 1.9rem; line-height: 1.2; margin: 1.5rem 0 1rem; overflow-wrap: anywhere; }}
h2 {{ font-size: 1.35rem; margin: 3rem 0 .75rem; padding-top: 1rem; border-top: 1px solid #e4e4e4; }}
h3 {{ font-size: 1.05rem; margin: 1.75rem 0 .5rem; }}
p, ul {{ max-width: 48rem; }}
p:has(img) {{ max-width: none; display: flex; flex-wrap: wrap; align-items: flex-start; gap: 1rem; }}
img {{ flex: 0 1 36rem; min-width: min(100%, 24rem); max-width: 100%; height: auto; object-fit: contain; }}
img[src^="data:image/gif"] {{ flex: 0 0 auto; min-width: 0; border-radius: 6px; }}
.scroll {{ overflow-x: auto; margin: 1rem 0; }}
table {{ border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }}
th, td {{ padding: .35rem .65rem; border-bottom: 1px solid #e9e9e9; white-space: nowrap; }}
th {{ color: #777; font-weight: 600; border-bottom: 2px solid #d5d5d5; }}
tbody tr:hover {{ background: #f5f9fc; }}
h1 + .scroll td {{ font-size: 1.7rem; font-weight: 600; color: #0072b2; border: 0; padding-top: 0; }}
h1 + .scroll th {{ border: 0; padding-bottom: 0; }}
h1 + .scroll :is(th, td) {{ text-align: left !important; padding-left: 0; padding-right: 2.5rem; }}
code {{ font: .88em ui-monospace, monospace; background: #f4f4f4; padding: .1em .3em; border-radius: 4px;
       overflow-wrap: anywhere; }}
h1 code {{ font: inherit; background: none; padding: 0; }}
td code {{ background: none; padding: 0; }}
td:first-child {{ white-space: normal; min-width: 15rem; }}
h1 + .scroll td:first-child, td:first-child:not(:has(code)) {{ min-width: 0; }}
@media (max-width: 40rem) {{
  body {{ padding: .5rem 1rem 3rem; }}
  h1 {{ font-size: 1.45rem; }}
  h1 + .scroll td {{ font-size: 1.25rem; }}
  h1 + .scroll :is(th, td) {{ padding-right: 1.1rem; }}
}}
pre {{ background: #f4f4f4; padding: .8rem 1rem; border-radius: 6px; overflow-x: auto; }}
pre code {{ background: none; padding: 0; }}
</style>
</head>
<body>
{body}
</body>
</html>
"""


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
    return HTML.format(title=html.escape(page.text.partition("\n")[0].strip("# ").replace("`", "")), body=body)
