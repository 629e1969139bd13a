# gradfeat on the CPU, as a user without rights. Mount the folder with your tables at /data:
#   docker build -t gradfeat . && docker run --rm -v "$PWD:/data" gradfeat fit mine.csv --target y
FROM python:3.12-slim AS build
WORKDIR /source
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src src
# The index of CPU builds keeps the image free of CUDA, on every architecture.
RUN python -m venv /opt/gradfeat \
 && /opt/gradfeat/bin/pip install --no-cache-dir -c constraints.txt \
    --extra-index-url https://download.pytorch.org/whl/cpu .[excel,dask]

FROM python:3.12-slim
RUN useradd --create-home --uid 1000 gradfeat && mkdir /data && chown gradfeat /data
COPY --from=build /opt/gradfeat /opt/gradfeat
ENV PATH=/opt/gradfeat/bin:$PATH MPLBACKEND=agg
USER gradfeat
WORKDIR /data
ENTRYPOINT ["gradfeat"]
CMD ["--help"]
