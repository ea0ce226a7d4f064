// Elements. Text from outside becomes text nodes and attributes, never markup.

/** An element, from `tag.class.class`, properties and children; null children are left out. */
export function h(tag, properties = {}, ...children) {
  const [name, ...classes] = tag.split(".");
  const element = document.createElement(name);
  element.classList.add(...classes);
  for (const [key, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (key in element && !key.startsWith("aria")) element[key] = value;
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
}

/** A button that does something. */
export function button(text, onclick, properties = {}) {
  return h("button", { type: "button", onclick, ...properties }, text);
}

/** A result or a decision as its word, in its colour. */
export function badge(word, text = word.replace("_", " ")) {
  return h(`span.badge.${word}`, {}, text);
}

/** The element with that id. */
export function byId(id) {
  return document.getElementById(id);
}

/** `1 turn`, `2 turns`. */
export function counted(count, noun) {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}
