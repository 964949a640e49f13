#!/usr/bin/env node
// Receives webhooks of Holon: verifies each one, takes it once, and forgets what no
// longer holds. GET / shows what holds now.
//
// usage: receiver.js HOST:PORT    with the secret of the bridge in HOLON_WEBHOOK_SECRET
"use strict";
const { createHmac, timingSafeEqual } = require("node:crypto");
const http = require("node:http");

const key = Buffer.from(process.env.HOLON_WEBHOOK_SECRET.replace(/^whsec_/, ""), "base64");

// In a program that may crash, these are in a database, and are stored before the
// answer: what was answered with 2xx is not sent again.
const seen = new Set();
const news = new Map();
let repeated = 0;

// Whether a webhook comes from the bridge, and not from long ago.
function verified(headers, body) {
  const id = headers["webhook-id"] ?? "", stamp = headers["webhook-timestamp"] ?? "";
  if (!/^\d+$/.test(stamp) || Math.abs(Date.now() / 1000 - Number(stamp)) > 300) return false;
  const mac = createHmac("sha256", key).update(`${id}.${stamp}.`).update(body).digest("base64");
  const want = Buffer.from("v1," + mac);
  return (headers["webhook-signature"] ?? "").split(" ").some((s) => { // two for a day after a rotation
    const got = Buffer.from(s);
    return got.length === want.length && timingSafeEqual(got, want);
  });
}

function receive(id, envelope) {
  if (seen.has(id)) {
    repeated++;
    return;
  }
  seen.add(id);
  for (const old of envelope.supersedes) news.delete(old);
  if (!["superseded", "test"].includes(envelope.event_type)) news.set(envelope.delivery_id, envelope);
}

const server = http.createServer((request, response) => {
  if (request.method === "GET") {
    response.end(JSON.stringify({ news: Object.fromEntries(news), received: seen.size, repeated }));
    return;
  }
  const chunks = [];
  let size = 0;
  request.on("data", (chunk) => {
    if ((size += chunk.length) > 1 << 20) request.destroy();
    chunks.push(chunk);
  });
  request.on("end", () => {
    const body = Buffer.concat(chunks);
    if (!verified(request.headers, body)) {
      response.writeHead(401).end("the signature is wrong\n");
      return;
    }
    receive(request.headers["webhook-id"], JSON.parse(body));
    response.writeHead(204).end();
  });
});

const at = process.argv[2].lastIndexOf(":");
server.listen(Number(process.argv[2].slice(at + 1)), process.argv[2].slice(0, at));
