import Logging
import NIOHTTP1
import NativeSSO

/// How a logout request ended.
enum LogoutOutcome: Sendable {
    /// Committed; so many sessions were live.
    case ended(Int64)
    case refused(Refusal)
    case unavailable(Outage)
    /// A defect of ours.
    case failed(String)

    init(_ error: TokenError) {
        switch error {
        case .refused(let refusal): self = .refused(refusal)
        case .limited(let limited): self = .refused(.rate(limited))
        case .outage(let outage): self = .unavailable(outage)
        case .broken(let what): self = .failed(what)
        }
    }

    enum Label: String, Sendable, CaseIterable {
        case ended, refused, unavailable, failed
    }

    var label: Label {
        switch self {
        case .ended: .ended
        case .refused: .refused
        case .unavailable: .unavailable
        case .failed: .failed
        }
    }

    /// The detail of an outage and the text of a defect are ours and hold nothing that a caller sent.
    var reason: String {
        switch self {
        case .ended: "none"
        case .refused(let refusal): refusal.reason
        case .unavailable(let outage): outage.description
        case .failed(let what): what
        }
    }

    var level: Logger.Level {
        switch self {
        case .ended: .info
        case .refused: .notice
        case .unavailable: .warning
        case .failed: .error
        }
    }
}

extension HTTPAnswer {
    /// Back-Channel Logout 1.0 §2.8. Its answers carry no-store like all that are not public.
    init(_ outcome: LogoutOutcome) {
        switch outcome {
        case .ended: self.init(status: .ok, body: Array("{}".utf8))
        case .refused(let refusal): self.init(refusal.answer)
        case .unavailable(let outage): self.init(TokenOutcome.unavailable(outage))
        case .failed(let what): self.init(TokenOutcome.failed(what))
        }
    }
}
