# SPDX-License-Identifier: MIT
#
# The executor of compose.yaml: pyxxl, with the handlers of main.py. It registers as `sample` wherever `shardwheel` is.
FROM python:3.11-slim
COPY requirements.txt main.py /executor/
RUN ["pip", "install", "--no-cache-dir", "-r", "/executor/requirements.txt"]
ENV LISTEN_HOST=0.0.0.0
EXPOSE 9999
CMD ["/bin/sh", "-c", "exec python /executor/main.py http://shardwheel:8080 sample 9999 \"$(cat /run/secrets/xxl.job.accessToken)\" /tmp/logs"]
