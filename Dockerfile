# syntax=docker/dockerfile:1
FROM node:24.21.0-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY client/package.json ./client/
RUN npm ci
COPY . .
RUN npm run build
# The base image's Node.js runs it: the one that npm start brings along stays out (300 MB).
RUN npm prune --omit=dev && rm -rf node_modules/node node_modules/.bin/node

FROM node:24.21.0-bookworm-slim
ENV NODE_ENV=production HOST=0.0.0.0 PORT=4000 DATA_DIR=/data
WORKDIR /app
RUN mkdir -p /data && chown node:node /data
COPY --from=build --chown=node:node /app/node_modules ./node_modules
COPY --from=build --chown=node:node /app/dist ./dist
COPY --chown=node:node package.json README.md LICENSE THIRD_PARTY_NOTICES.md ./
COPY --chown=node:node scripts ./scripts
USER node
VOLUME /data
EXPOSE 4000
HEALTHCHECK --interval=5s --timeout=3s --start-period=20s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + process.env.PORT + '/readyz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# Node is the container's first process: SIGTERM reaches it, and it drains.
CMD ["node", "--max-semi-space-size=32", "--no-allocation-site-pretenuring", "dist/main.js"]
