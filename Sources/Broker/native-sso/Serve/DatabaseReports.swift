import BrokerHTTP
import PostgresClient

/// The lanes of the hot calls as metrics.
struct LaneReport: MetricSource {
    let lanes: BatchingLanes

    var samples: [MetricSample] {
        let lanes = lanes.statistics
        return [
            .gauge("database_lane_connections", "Lanes with a connection now.", lanes.connections.connections),
            .gauge("database_lane_queue_depth", "Calls waiting for a lane.", lanes.queueDepth),
            .counter(
                "database_lane_connects_total", "Connections of lanes established since the start.",
                lanes.connections.connectsTotal),
            .counter(
                "database_lane_connect_failures_total", "Attempts of lanes to connect that failed.",
                lanes.connections.connectFailuresTotal),
            .counter("database_lane_batches_total", "Batches that were sent.", lanes.batchesTotal),
            .counter("database_lane_calls_total", "Calls in them.", lanes.callsTotal),
            .counter(
                "database_lane_gathered_calls_total", "Calls that were made by one statement with others.",
                lanes.gatheredCallsTotal),
            .counter("database_lane_failed_batches_total", "Batches that were rolled back.", lanes.failedBatchesTotal),
            .counter(
                "database_lane_repeated_calls_total", "Calls run again after their batch was rolled back.",
                lanes.repeatedCallsTotal),
            .counter(
                "database_lane_calls_aside_total", "Calls that met a lock or a conflict and were run apart.",
                lanes.callsAsideTotal),
            .counter(
                "database_lane_shed_total", "Calls that waited in vain or found the queue full.", lanes.shedTotal),
        ]
    }
}

/// The database pool as metrics.
struct PoolReport: MetricSource {
    let pool: ConnectionPool

    var samples: [MetricSample] {
        let pool = pool.statistics
        return [
            .gauge("database_connections", "Connections established now.", pool.connections),
            .gauge("database_queue_depth", "Calls waiting for a connection.", pool.queueDepth),
            .counter(
                "database_connects_total", "Connections established since the start.", pool.connectsTotal),
            .counter("database_connect_failures_total", "Attempts to connect that failed.", pool.connectFailuresTotal),
            .counter("database_shed_total", "Calls that waited in vain or found the queue full.", pool.shedTotal),
        ]
    }
}

/// Lines that the log could not take.
struct LogReport: MetricSource {
    let sink: LogSink

    var samples: [MetricSample] {
        [.counter("log_lines_dropped_total", "Log lines lost since the start.", sink.droppedLines)]
    }
}

extension MetricSample {
    static func gauge(_ name: StaticString, _ help: StaticString, _ value: some BinaryInteger) -> MetricSample {
        MetricSample(name, help, .gauge, Int64(value))
    }

    static func counter(_ name: StaticString, _ help: StaticString, _ value: some BinaryInteger) -> MetricSample {
        MetricSample(name, help, .counter, Int64(value))
    }
}
