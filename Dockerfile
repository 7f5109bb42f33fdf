# For use with a container engine; `make images` builds the same content without one. A test compares the two.
FROM rust:1.95-bookworm AS build
WORKDIR /src
COPY . .
ENV SOURCE_DATE_EPOCH=0
ENV RUSTFLAGS="-Ctarget-feature=+crt-static --remap-path-prefix=/usr/local/cargo=/cargo"
RUN cargo build --locked --release --package kruise-manager --package kruise-daemon --target "$(uname -m)-unknown-linux-gnu" \
    && cp "target/$(uname -m)-unknown-linux-gnu/release/kruise-manager" /manager \
    && cp "target/$(uname -m)-unknown-linux-gnu/release/kruise-daemon" /kruise-daemon

FROM scratch
ARG VERSION=dev
COPY --from=build /manager /manager
COPY --from=build /kruise-daemon /kruise-daemon
LABEL org.opencontainers.image.title="kruise-manager"
LABEL org.opencontainers.image.licenses="Apache-2.0"
LABEL org.opencontainers.image.version="${VERSION}"
USER 65534:65534
ENTRYPOINT ["/manager"]
