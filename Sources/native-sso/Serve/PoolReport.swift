import BrokerHTTP
import Logging
import PostgresClient

/// The database pool as metrics and in the log.
struct PoolReport: MetricSource {
    let pool: ConnectionPool

    var samples: [MetricSample] {
        let statistics = pool.statistics
        return [
            MetricSample("database_connections", "Connections established now.", .gauge, Int64(statistics.connections)),
            MetricSample(
                "database_queue_depth", "Calls waiting for a connection.", .gauge, Int64(statistics.queueDepth)),
            MetricSample(
                "database_connects_total", "Connections established since the start.", .counter,
                Int64(statistics.connectsTotal)),
            MetricSample(
                "database_connect_failures_total", "Attempts to connect that failed.", .counter,
                Int64(statistics.connectFailuresTotal)),
            MetricSample(
                "database_shed_total", "Calls that waited in vain or found the queue full.", .counter,
                Int64(statistics.shedTotal)),
        ]
    }
}

/// Lines that the log could not take.
struct LogReport: MetricSource {
    let sink: LogSink

    var samples: [MetricSample] {
        [MetricSample("log_lines_dropped_total", "Log lines lost since the start.", .counter, Int64(sink.droppedLines))]
    }
}
