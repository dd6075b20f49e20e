import NIOHTTP1
import NativeSSO
import OAuthWire

/// How a token request ended.
enum TokenOutcome: Sendable {
    /// - Parameter nonce: For the app's next proof.
    case granted(TokenResponse, nonce: String?)
    case refused(Refusal)
    /// Something that the broker needs is not there.
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
}

extension HTTPAnswer {
    init(_ outcome: TokenOutcome) {
        switch outcome {
        case .granted(let response, let nonce):
            self.init(status: .ok, headers: nonce.map { [("DPoP-Nonce", $0)] } ?? [], body: response.json)
        case .refused(let refusal): self.init(refusal.answer)
        case .unavailable:
            let body = OAuthErrorResponse(.temporarilyUnavailable, "The service is temporarily unavailable.")
            self.init(status: .serviceUnavailable, headers: [("Retry-After", "1")], body: body.json)
        case .failed:
            let body = OAuthErrorResponse(.serverError, "The request could not be processed.")
            self.init(status: .internalServerError, body: body.json)
        }
    }

    init(_ refusal: RefusalAnswer) {
        self.init(status: refusal.status, headers: refusal.headers, body: refusal.body.json)
    }
}
