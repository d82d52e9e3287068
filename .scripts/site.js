// Search: the only thing on the site that needs a script.
const script = document.currentScript, box = document.querySelector(".search"), field = box.querySelector("input"), list = box.querySelector("ul");
box.hidden = false;
field.addEventListener("focus", () => {
    if (document.getElementById("index")) return;
    document.head.append(Object.assign(document.createElement("script"), { id: "index", src: script.dataset.root + "search.js", onload: find }));
});
field.addEventListener("input", find);
document.addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== field) { event.preventDefault(); field.focus(); }
    if (event.key === "Escape") { field.value = ""; find(); field.blur(); }
    if (event.key === "Enter" && document.activeElement === field) list.querySelector("a")?.click();
});
function find() {
    list.replaceChildren();
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    if (!words.length || typeof pages === "undefined") return;
    const found = pages.filter(([title, path]) => words.every((word) => (title + " " + path).toLowerCase().includes(word)));
    const begins = ([title]) => (title.toLowerCase().startsWith(words[0]) ? 0 : 1);
    for (const [title, path, kind] of found.sort((a, b) => begins(a) - begins(b) || a[3] - b[3]).slice(0, 30)) {
        const link = Object.assign(document.createElement("a"), { href: script.dataset.root + encodeURI(path), textContent: title });
        const item = document.createElement("li");
        link.append(Object.assign(document.createElement("small"), { textContent: kind }));
        item.append(link);
        list.append(item);
    }
}
