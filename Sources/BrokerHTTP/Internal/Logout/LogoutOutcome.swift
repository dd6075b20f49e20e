import NIOHTTP1

/// How a logout request ended.
typealias LogoutOutcome = RequestOutcome<EndedSessions>

/// Committed; so many sessions were live.
struct EndedSessions: Sendable {
    let count: Int64
}

enum LogoutLabel: String, Sendable, CaseIterable {
    case ended, refused, unavailable, failed
}

extension LogoutOutcome {
    var label: LogoutLabel {
        switch self {
        case .succeeded: .ended
        case .refused: .refused
        case .unavailable: .unavailable
        case .failed: .failed
        }
    }
}

extension HTTPAnswer {
    /// Back-Channel Logout 1.0 §2.8: 200 where the end is committed, and 400 for whatever else became of it; `error` tells a
    /// token that is refused from one that may be sent again. Its answers carry no-store like all that are not public.
    init(_ outcome: LogoutOutcome) {
        self.init(outcome) { _ in HTTPAnswer(status: .ok, body: Array("{}".utf8)) }
        switch outcome {
        case .unavailable, .failed, .refused(.rate): status = .badRequest
        case .succeeded, .refused: break
        }
    }
}
