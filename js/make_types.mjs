// SPDX-License-Identifier: Apache-2.0
// make_types.mjs - types.d.ts from the schemas of docs/openapi.json: node js/make_types.mjs [--check]
import { readFileSync, writeFileSync } from "node:fs";

const document = JSON.parse(readFileSync(new URL("../docs/openapi.json", import.meta.url)));
const target = new URL("types.d.ts", import.meta.url);
const NAMES = { string: "string", integer: "number", number: "number", boolean: "boolean", null: "null" };

function type(schema, indent) {
  if (schema.$ref) return schema.$ref.split("/").pop();
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  if (schema.oneOf ?? schema.anyOf) return (schema.oneOf ?? schema.anyOf).map((one) => type(one, indent)).join(" | ");
  if (schema.allOf) return schema.allOf.map((one) => type(one, indent)).join(" & ");
  const kinds = [schema.type ?? []].flat().map((kind) => {
    if (kind === "array") return `Array<${type(schema.items ?? {}, indent)}>`;
    if (kind === "object" && schema.properties) return members(schema, indent);
    if (kind === "object") return `{ [name: string]: ${type(typeof schema.additionalProperties === "object" ? schema.additionalProperties : {}, indent)} }`;
    return NAMES[kind];
  });
  return kinds.length > 0 ? kinds.join(" | ") : "unknown";
}

function members(schema, indent) {
  const inner = indent + "  ";
  const lines = Object.entries(schema.properties).map(([name, property]) => {
    const words = property.description ? `${inner}/** ${property.description.replaceAll("*/", "* /")} */\n` : "";
    const key = /^[A-Za-z_]\w*$/.test(name) ? name : JSON.stringify(name);
    return `${words}${inner}${key}${schema.required?.includes(name) ? "" : "?"}: ${type(property, inner)};\n`;
  });
  return `{\n${lines.join("")}${indent}}`;
}

const text = "// Made from docs/openapi.json by make_types.mjs.\n" + Object.entries(document.components.schemas)
  .map(([name, schema]) => `\n${schema.description ? `/** ${schema.description} */\n` : ""}export type ${name} = ${type(schema, "")};\n`).join("");
if (!process.argv.includes("--check")) writeFileSync(target, text);
else if (readFileSync(target, "utf8") !== text) {
  console.error("js/types.d.ts is not that of docs/openapi.json: run node js/make_types.mjs");
  process.exit(1);
}
