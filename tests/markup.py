"""What a reader would find in the HTML of the scorecard."""

from html.parser import HTMLParser


class Seen(HTMLParser):
    """A page's ids and links, its text inside and outside of formulas, and its entries with their badges."""

    def __init__(self, source):
        super().__init__()
        self.ids, self.links, self.open, self.entry = [], [], [], None
        self.entries, self.words, self.formulas, self.badges = {}, [], [], {}
        self.feed(source)
        assert self.open == [], "every element is closed"

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.ids += [given["id"]] if "id" in given else []
        self.links += [given["href"]] if tag == "a" else []
        if tag == "li" and given.get("id", "").startswith("claim-"):
            self.entry = given["id"].removeprefix("claim-")
            self.entries[self.entry] = given
            self.badges[self.entry] = []
        if tag not in ("input", "wbr"):
            self.open.append((tag, given.get("class", "")))

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag
        self.entry = None if tag == "li" else self.entry

    def handle_data(self, text):
        classes = " ".join(name for _, name in self.open).split()
        if "math" in classes:
            self.formulas.append(text)
        elif not any(tag == "option" for tag, _ in self.open):  # in which nothing can be typeset
            self.words.append(text)
        if self.entry and {"gq-badge", "gq-weight"} & set(classes):
            self.badges[self.entry].append(text.strip())
