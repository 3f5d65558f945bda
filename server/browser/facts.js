// What a page looks like to the rules of accessibility: an object of the faults that the style and the structure of its
// elements show, by rule. It is evaluated in the page, whose policy it need not keep.
(() => {
  const faults = [];
  const where = (e) => {
    const id = e.id ? "#" + e.id : "";
    const classes = typeof e.className === "string" && e.className ? "." + e.className.trim().split(/\s+/).join(".") : "";
    return e.localName + id + classes + " " + JSON.stringify((e.textContent ?? "").trim().replace(/\s+/g, " ").slice(0, 40));
  };
  const fault = (rule, e, text) => faults.push({ rule, where: where(e), text });

  // Colours. A canvas knows every way to write one.
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const known = new Map();
  const rgba = (color) => {
    if (!known.has(color)) {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = color;
      canvas.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
      known.set(color, [r, g, b, a / 255]);
    }
    return known.get(color);
  };
  const over = ([r, g, b, a], [r0, g0, b0]) => [r * a + r0 * (1 - a), g * a + g0 * (1 - a), b * a + b0 * (1 - a)];
  const luminance = (c) => {
    const [r, g, b] = c.map((v) => ((v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => {
    const [hi, lo] = [luminance(a), luminance(b)].sort((x, y) => y - x);
    return (hi + 0.05) / (lo + 0.05);
  };
  // groundOf returns the colour behind what an element holds.
  const groundOf = (e) => {
    if (!e) return rgba(getComputedStyle(document.documentElement).colorScheme.includes("dark") && matchMedia("(prefers-color-scheme: dark)").matches ? "#121212" : "#fff").slice(0, 3);
    const style = getComputedStyle(e);
    const color = rgba(style.backgroundColor);
    if (style.backgroundImage !== "none") fault("contrast", e, "a background image, whose colours cannot be said");
    return color[3] === 1 ? color.slice(0, 3) : over(color, groundOf(e.parentElement));
  };
  const seen = (e) => {
    const r = e.getBoundingClientRect();
    return r.width > 1 && r.height > 1 && e.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  };
  const opacity = (e) => (e ? Number(getComputedStyle(e).opacity) * opacity(e.parentElement) : 1);
  const judge = (rule, e, color, ground, least, of) => {
    const [r, g, b, a] = rgba(color);
    const ratio = contrast(over([r, g, b, a * opacity(e)], ground), ground);
    if (ratio < least) fault(rule, e, `${of} has a contrast of ${ratio.toFixed(2)}, less than ${least}`);
  };
  const leastOf = (style) => {
    const size = parseFloat(style.fontSize);
    return size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
  };

  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let read = 0;
  while (texts.nextNode()) {
    const e = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || !seen(e) || e.closest("script, style, option, noscript, title")) continue;
    read++;
    const style = getComputedStyle(e);
    judge("contrast", e, e.closest("svg") ? style.fill : style.color, groundOf(e), leastOf(style), "text");
  }
  for (const e of document.querySelectorAll("input, select, textarea")) {
    if (!seen(e) || e.disabled) continue;
    const style = getComputedStyle(e);
    judge("contrast", e, style.color, groundOf(e), leastOf(style), "the value");
    if (e.placeholder) judge("contrast", e, getComputedStyle(e, "::placeholder").color, groundOf(e), 4.5, "the placeholder");
  }
  for (const e of document.querySelectorAll("ol > li")) {
    if (seen(e)) judge("contrast", e, getComputedStyle(e, "::marker").color, groundOf(e), 4.5, "the number");
  }

  // What is drawn, and the edges of controls: 3 to 1.
  for (const e of document.querySelectorAll("input, select, textarea, button")) {
    if (!seen(e) || e.disabled || e.type === "hidden") continue;
    const style = getComputedStyle(e);
    const outside = groundOf(e.parentElement);
    const edge = parseFloat(style.borderTopWidth) > 0 ? contrast(over(rgba(style.borderTopColor), outside), outside) : 0;
    if (Math.max(edge, contrast(groundOf(e), outside)) < 3) fault("edge", e, "neither edge nor ground has a contrast of 3 to what is around");
  }
  for (const e of document.querySelectorAll("svg rect, svg polyline, svg circle, svg path.data")) {
    if (!e.checkVisibility() || !e.getBBox().width) continue;
    const style = getComputedStyle(e);
    judge("edge", e, style.fill === "none" ? style.stroke : style.fill, groundOf(e.closest("svg").parentElement), 3, "the shape");
  }

  // Structure.
  if (!document.documentElement.lang) fault("language", document.documentElement, "no lang");
  if (!document.title.trim()) fault("title", document.documentElement, "no title");
  const viewport = document.querySelector('meta[name="viewport"]')?.content ?? "";
  if (/user-scalable\s*=\s*(no|0)|maximum-scale/.test(viewport)) fault("zoom", document.documentElement, "users cannot zoom");
  const ids = new Map();
  for (const e of document.querySelectorAll("[id]")) {
    if (ids.has(e.id)) fault("id", e, "its id is that of another element, too");
    ids.set(e.id, e);
  }
  for (const name of ["aria-labelledby", "aria-describedby", "aria-controls", "aria-activedescendant", "for"]) {
    for (const e of document.querySelectorAll(`[${name}]`)) {
      for (const id of e.getAttribute(name).split(/\s+/)) if (!ids.has(id)) fault("id", e, `${name} names ${id}, which is nowhere`);
    }
  }
  for (const e of document.querySelectorAll("[tabindex]")) if (e.tabIndex > 0) fault("order", e, `tabindex ${e.tabIndex} changes the order of keys`);
  for (const e of document.querySelectorAll("[aria-hidden=true] :is(a[href], button, input, select, textarea, [tabindex])")) fault("role", e, "hidden, but takes the focus");
  const attributes = /^aria-(activedescendant|atomic|autocomplete|busy|checked|controls|current|describedby|description|details|disabled|expanded|haspopup|hidden|invalid|label|labelledby|level|live|modal|orientation|posinset|pressed|relevant|rowcount|selected|setsize|sort|valuemax|valuemin|valuenow|valuetext)$/;
  for (const e of document.querySelectorAll("*")) {
    for (const a of e.attributes) if (a.name.startsWith("aria-") && !attributes.test(a.name)) fault("role", e, `there is no ${a.name}`);
  }
  for (const e of document.querySelectorAll("table")) {
    if (!e.querySelector("th")) fault("table", e, "no headers");
    const empty = [...e.querySelectorAll("th")].find((th) => !th.textContent.trim());
    if (empty) fault("table", e, "a header without text");
  }
  for (const e of document.querySelectorAll("ul > :not(li), ol > :not(li), dl > :not(dt, dd, div)")) fault("list", e, "not an item of a list");

  // Targets of pointers are at least 24 pixels wide and high, or far enough from others, or within a sentence.
  const targets = [...document.querySelectorAll("a[href], button, input, select, textarea, summary")].filter((e) => seen(e) && e.type !== "hidden");
  const box = (e) => e.getBoundingClientRect();
  const small = (e) => box(e).width < 24 || box(e).height < 24;
  const inText = (e) => getComputedStyle(e).display === "inline" && [...e.parentElement.childNodes].some((n) => n !== e && n.textContent.trim());
  for (const e of targets) {
    if (!small(e) || inText(e)) continue;
    const r = box(e);
    const [x, y] = [(r.left + r.right) / 2, (r.top + r.bottom) / 2];
    const near = targets.find((o) => {
      if (o === e || o.contains(e)) return false;
      const b = box(o);
      const to = (lo, v, hi) => Math.max(lo - v, 0, v - hi);
      const distance = Math.hypot(to(b.left, x, b.right), to(b.top, y, b.bottom));
      const between = Math.hypot((b.left + b.right) / 2 - x, (b.top + b.bottom) / 2 - y);
      return distance < 11.5 || (small(o) && between < 23.5);
    });
    if (near) fault("target", e, `${Math.round(r.width)} × ${Math.round(r.height)} pixels, and close to ${where(near)}`);
  }
  return { faults, texts: read };
})()
