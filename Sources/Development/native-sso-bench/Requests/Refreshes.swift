import OAuthWire

/// Refreshes many grants in turn. Each answer holds the refresh token for the next request of its grant.
struct Refreshes: Workload {
    private let chains: Chains
    private let head: [UInt8]
    private(set) var position: Int
    private var underWay = [Int](repeating: 0, count: 4096)

    init(_ chains: Chains, app: String, from position: Int = 0) {
        self.chains = chains
        self.position = position
        let form =
            FormEncoder.encode([
                Parameter.grantType: GrantType.refreshToken.rawValue, Parameter.clientID: app,
            ]) + Array("&\(Parameter.refreshToken)=".utf8)
        head = TokenRequest.head(bodyLength: form.count + chains.tokenLength) + form
    }

    mutating func next(on connection: Int, into request: UnsafeMutableRawBufferPointer) -> Int? {
        for _ in 0..<chains.count {
            let chain = position
            position = (position + 1) % chains.count
            guard let token = chains[chain] else { continue }
            underWay[connection] = chain
            return request.fill(head, token)
        }
        return nil
    }

    mutating func answered(_ body: UnsafeRawBufferPointer, on connection: Int) {
        chains.take(body, for: underWay[connection])
    }
}
