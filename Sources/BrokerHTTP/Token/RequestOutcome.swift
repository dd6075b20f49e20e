import Logging
import NIOHTTP1
import NativeSSO
import OAuthWire

/// How a request to an endpoint ended that accepts or refuses.
enum RequestOutcome<Success: Sendable>: Sendable {
    case succeeded(Success)
    case refused(Refusal)
    /// Something that the broker needs is not there.
    case unavailable(Outage)
    /// A defect of ours.
    case failed(String)

    init(_ error: TokenError) {
        switch error {
        case .invalidIDToken(let defect): self = .refused(.subjectToken(defect))
        case .refused(let refusal): self = .refused(refusal)
        case .limited(let limited): self = .refused(.rate(limited))
        case .outage(let outage): self = .unavailable(outage)
        case .broken(let what): self = .failed(what)
        }
    }

    var refusal: Refusal? {
        if case .refused(let refusal) = self { refusal } else { nil }
    }

    /// The detail of an outage and the text of a defect are ours and hold nothing that a caller sent.
    var reason: String {
        switch self {
        case .succeeded: "none"
        case .refused(let refusal): refusal.reason
        case .unavailable(let outage): outage.description
        case .failed(let what): what
        }
    }

    var level: Logger.Level {
        switch self {
        case .succeeded: .info
        // The database has lost writes that it had acknowledged: whoever is on call must hear of it.
        case .refused(.refresh(.stateRegressed)): .error
        case .refused(.code(let refusal)) where refusal.isProviderFault: .warning
        case .refused: .notice
        case .unavailable: .warning
        case .failed: .error
        }
    }
}

extension HTTPAnswer {
    /// - Parameter success: What says that it was done.
    init<Success>(_ outcome: RequestOutcome<Success>, success: (Success) -> HTTPAnswer) {
        switch outcome {
        case .succeeded(let value): self = success(value)
        case .refused(let refusal): self.init(refusal.answer)
        case .unavailable: self = .unavailable
        case .failed: self = .failed
        }
    }

    init(_ refusal: RefusalAnswer) {
        self.init(status: refusal.status, headers: refusal.headers, body: refusal.body.json)
    }

    static let unavailable = HTTPAnswer(RefusalAnswer.unavailable)

    static let failed = HTTPAnswer(
        status: .internalServerError,
        body: OAuthErrorResponse(.serverError, "The request could not be processed.").json)
}
