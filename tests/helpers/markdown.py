"""Tables of a report's Markdown, read back."""


def table(markdown, first):
    """The rows of the table whose first column is called ``first``, as dicts; numbers as numbers."""
    lines = markdown.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(f"| {first} |"))
    header = cells(lines[start])
    found = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        found.append(dict(zip(header, cells(line), strict=True)))
    return found


def cells(line):
    return [cell.strip().strip("`").replace("\N{MINUS SIGN}", "-").replace(",", "") for cell in line.split("|")[1:-1]]
