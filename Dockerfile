# For those who have an engine; `make images` builds the same content without one.
FROM rust:1.95-bookworm AS build
WORKDIR /src
COPY . .
ENV CARGO_ENCODED_RUSTFLAGS="-Ctarget-feature=+crt-static"
RUN cargo build --locked --release --package kruise-manager --target "$(uname -m)-unknown-linux-gnu" \
    && cp "target/$(uname -m)-unknown-linux-gnu/release/kruise-manager" /manager

FROM scratch
COPY --from=build /manager /manager
USER 65534:65534
ENTRYPOINT ["/manager"]
