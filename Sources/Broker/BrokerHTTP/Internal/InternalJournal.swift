import Logging
import NIOHTTP1
import NativeSSO

/// One line in the log and a count in the metrics for every request to the internal listener that never became what is served
/// there. None in the audit, as on the public listener: nothing was asked that could be refused for what it is.
struct InternalJournal: Sendable {
    let metrics: BrokerMetrics
    let logger: Logger

    func refused(_ record: RequestRecord, _ refusal: Refusal, status: HTTPResponseStatus) {
        metrics.internalRequestRefused(refusal)
        logger.notice(
            "internal request",
            metadata: [
                "request_id": .string(record.requestID.description),
                "outcome": .string(OutcomeLabel.refused.rawValue),
                "reason": .string(refusal.reason),
                "status": .stringConvertible(Int(status.code)),
                "duration_us": .stringConvertible(Int((ContinuousClock.now - record.start).microseconds)),
            ])
    }
}
