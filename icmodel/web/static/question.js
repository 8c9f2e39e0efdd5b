// Question of the what-if page: its parameters, and its encoding in the address.

/** Groups of parameters: option, label, name with SI unit as suffix, example, and whether the field may be empty. */
export const GROUPS = [
  ["Stream", [
    ["payload", "Payload", "payload_bytes", "64 KiB", false],
    ["rate", "Rate", "rate_fps", "unlimited", true],
    ["requested_goodput", "Requested goodput", "requested_goodput_bps", "unlimited", true],
    ["cores", "Cores", "cores", "as benchmarked", true],
  ]],
  ["Network", [
    ["switches", "Switches", "switches", "0", true],
    ["endpoints", "Endpoints", "endpoints", "1", true],
    ["other_goodput", "Others’ goodput", "other_goodput_bps", "0 b/s", true],
    ["distance", "Distance", "distance_m", "as benchmarked", true],
    ["line_rate", "Line rate", "line_rate_bps", "as benchmarked", true],
  ]],
  ["Hosts and application", [
    ["cpu_clock", "CPU clock", "cpu_clock_ratio", "1", true],
    ["app_send", "Own work, sending", "app_send_s", "0 s", true],
    ["app_recv", "Own work, receiving", "app_recv_s", "0 s", true],
    ["app_send_per_byte", "Sending, a byte", "app_send_s_per_byte", "0 s", true],
    ["app_recv_per_byte", "Receiving, a byte", "app_recv_s_per_byte", "0 s", true],
  ]],
];
export const FIELDS = Object.fromEntries(GROUPS.flatMap(([, fields]) => fields).map((field) => [field[0], field]));
export const OVER = { payload: "payload", load: "requested goodput", cores: "cores" };
export const MOST_PINS = 4, MOST_OTHERS = 3, MOST_NEEDS = 12;

export const FIRST = "dataset=ethernet-10g-2012&payload=1448+B";

/** Read a question from parameters of an address. */
function questionOf(parameters) {
  const words = {}, options = {};
  for (const [name, value] of parameters) {
    if (name in FIELDS) words[name] = value;
    else if (name.startsWith("option.")) options[name.slice(7)] = value;
  }
  const one = (name) => parameters.get(name) ?? "";
  const [dataset, variant, protocol] = ["dataset", "variant", "protocol"].map(one);
  return { dataset, variant, protocol, words, options, extrapolate: one("extrapolate") === "1" };
}

function questionParameters(question) {
  const parameters = new URLSearchParams();
  for (const name of ["dataset", "variant", "protocol"]) if (question[name]) parameters.set(name, question[name]);
  for (const name of Object.keys(FIELDS)) if (question.words[name]) parameters.set(name, question.words[name]);
  for (const [axis, value] of Object.entries(question.options)) if (value) parameters.set(`option.${axis}`, value);
  if (question.extrapolate) parameters.set("extrapolate", "1");
  return parameters;
}

/** Read the whole page from an address: question, plot, requirements, others in the plot, and pins. */
export function read(parameters) {
  const over = parameters.get("over");
  return {
    question: questionOf(parameters),
    over: over in OVER ? over : "payload",
    show: parameters.get("show") ?? "goodput_bps",
    log: parameters.get("log") === "1",
    needs: parameters.getAll("need").slice(0, MOST_NEEDS),
    others: parameters.getAll("with").slice(0, MOST_OTHERS).map((one) => {
      const [dataset, variant = "", protocol = ""] = one.split("|");
      return { dataset, variant, protocol };
    }),
    pins: parameters.getAll("pin").slice(0, MOST_PINS).map((one) => questionOf(new URLSearchParams(one))),
  };
}

export function write(state) {
  const parameters = questionParameters(state.question);
  if (state.over !== "payload") parameters.set("over", state.over);
  if (state.show !== "goodput_bps") parameters.set("show", state.show);
  if (state.log) parameters.set("log", "1");
  for (const need of state.needs) parameters.append("need", need);
  for (const { dataset, variant, protocol } of state.others) parameters.append("with", `${dataset}|${variant}|${protocol}`);
  for (const pin of state.pins) parameters.append("pin", questionParameters(pin).toString());
  return parameters.toString();
}

/** Return all questions: the page's question, the same on other datasets or variants, and the pinned questions. */
export function questions(state) {
  const { question, others, pins } = state;
  const options = (other) => (other.dataset === question.dataset ? question.options : {});
  return [question, ...others.map((other) => ({ ...question, ...other, options: options(other) })), ...pins];
}

/** Remove the parameters that vary along an axis. So questions that differ only in them share one curve. */
export function along(question, over) {
  const words = { ...question.words };
  for (const name of over === "load" ? ["rate", "requested_goodput"] : [over]) delete words[name];
  return { ...question, words };
}

/** Name a question by its differences from the page's own question. */
export function nameOf(question, own) {
  const parts = [];
  for (const name of ["dataset", "variant", "protocol"]) if (question[name] && question[name] !== own[name]) parts.push(question[name]);
  for (const [name, [, label]] of Object.entries(FIELDS)) {
    const [mine, other] = [question.words[name] ?? "", own.words[name] ?? ""];
    if (mine !== other) parts.push(mine ? `${label.toLowerCase()} ${mine}` : `no ${label.toLowerCase()}`);
  }
  for (const axis of new Set([...Object.keys(question.options), ...Object.keys(own.options)]))
    if ((question.options[axis] ?? "") !== (own.options[axis] ?? "")) parts.push(`${axis} ${question.options[axis] ?? "default"}`);
  return parts.join(", ") || "the same";
}
