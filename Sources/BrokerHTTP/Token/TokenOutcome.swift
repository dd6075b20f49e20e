import NIOHTTP1
import OAuthWire

/// How a token request ended.
typealias TokenOutcome = RequestOutcome<GrantedTokens>

struct GrantedTokens: Sendable {
    let response: TokenResponse
    /// For the app's next proof.
    let nonce: String?
}

extension TokenOutcome {
    var label: OutcomeLabel {
        switch self {
        case .succeeded: .granted
        case .refused: .refused
        case .unavailable: .unavailable
        case .failed: .failed
        }
    }
}

extension HTTPAnswer {
    init(_ outcome: TokenOutcome) {
        self.init(outcome) { granted in
            HTTPAnswer(
                status: .ok, headers: granted.nonce.map { [("DPoP-Nonce", $0)] } ?? [], body: granted.response.json)
        }
    }
}
