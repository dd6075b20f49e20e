import BrokerHTTP
import PostgresClient

/// The lanes of the hot calls as metrics.
struct LaneReport: MetricSource {
    let lanes: BatchingLanes

    var samples: [MetricSample] {
        let statistics = lanes.statistics
        return [
            MetricSample(
                "database_lane_connections", "Lanes with a connection now.", .gauge,
                Int64(statistics.connections.connections)),
            MetricSample(
                "database_lane_queue_depth", "Calls waiting for a lane.", .gauge, Int64(statistics.queueDepth)),
            MetricSample(
                "database_lane_connects_total", "Connections of lanes established since the start.", .counter,
                Int64(statistics.connections.connectsTotal)),
            MetricSample(
                "database_lane_connect_failures_total", "Attempts of lanes to connect that failed.", .counter,
                Int64(statistics.connections.connectFailuresTotal)),
            MetricSample(
                "database_lane_batches_total", "Batches that were sent.", .counter, Int64(statistics.batchesTotal)),
            MetricSample("database_lane_calls_total", "Calls in them.", .counter, Int64(statistics.callsTotal)),
            MetricSample(
                "database_lane_gathered_calls_total", "Calls that were made by one statement with others.", .counter,
                Int64(statistics.gatheredCallsTotal)),
            MetricSample(
                "database_lane_failed_batches_total", "Batches that were rolled back.", .counter,
                Int64(statistics.failedBatchesTotal)),
            MetricSample(
                "database_lane_repeated_calls_total", "Calls run again after their batch was rolled back.", .counter,
                Int64(statistics.repeatedCallsTotal)),
            MetricSample(
                "database_lane_calls_aside_total", "Calls that met a lock or a conflict and were run apart.", .counter,
                Int64(statistics.callsAsideTotal)),
            MetricSample(
                "database_lane_shed_total", "Calls that waited in vain or found the queue full.", .counter,
                Int64(statistics.shedTotal)),
        ]
    }
}
