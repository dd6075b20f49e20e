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

    /// A pool's events, on their way to the log.
    static func log(_ event: ConnectionEvent, to logger: Logger) {
        switch event {
        case .connected(let server):
            logger.info("database connected", metadata: ["server": .string(server)])
        case .connectFailed(let server, let reason, let state, let message):
            var metadata: Logger.Metadata = [
                "server": .string(server), "reason": .string(reason.rawValue),
                "sqlstate": .string(state.map { "\($0)" } ?? "none"),
            ]
            if let message { metadata["message"] = .string(message) }
            logger.warning("database connection failed", metadata: metadata)
        case .disconnected(let server):
            logger.warning("database connection lost", metadata: ["server": .string(server)])
        }
    }
}

/// Lines that the log could not take.
struct LogReport: MetricSource {
    let sink: LogSink

    var samples: [MetricSample] {
        [MetricSample("log_lines_dropped_total", "Log lines lost since the start.", .counter, Int64(sink.droppedLines))]
    }
}
