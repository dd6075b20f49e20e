import NativeSSOClient
import OAuthWire
import Testing

/// Gives the answers it was made with, one after the other, and keeps what was sent.
actor ScriptedTransport: HTTPTransport {
    struct NoAnswer: Error {}

    private var answers: [Result<TransportResponse, NoAnswer>]
    private(set) var requests: [TransportRequest] = []
    /// Where set, each answer waits until it is let go.
    private var gate: [CheckedContinuation<Void, Never>]?

    init(_ answers: [Result<TransportResponse, NoAnswer>], held: Bool = false) {
        self.answers = answers
        gate = held ? [] : nil
    }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        requests.append(request)
        if gate != nil { await withCheckedContinuation { gate?.append($0) } }
        try #require(!answers.isEmpty, "more requests than answers")
        return try answers.removeFirst().get()
    }

    func waitForRequests(_ count: Int) async { while requests.count < count { await Task.yield() } }

    /// Lets the answers go, once `count` requests wait for theirs.
    func release(whenWaiting count: Int) async {
        while (gate?.count ?? 0) < count { await Task.yield() }
        let waiting = gate ?? []
        gate = nil
        for continuation in waiting { continuation.resume() }
    }

    func form(_ index: Int = 0) throws -> FormParameters {
        try FormDecoder.decode(try #require(requests.indices.contains(index) ? requests[index] : nil).body)
    }
}

extension Result where Success == TransportResponse, Failure == ScriptedTransport.NoAnswer {
    static func answer(_ status: Int, _ body: String, retryAfter: String? = nil, requestID: String? = nil) -> Self {
        let fields = [("Retry-After", retryAfter), ("x-request-id", requestID)]
        return .success(
            TransportResponse(
                status: status, fields: fields.compactMap { name, value in value.map { (name, $0) } },
                body: Array(body.utf8)))
    }

    static func tokens(_ access: String, refresh: String? = nil, expiresIn: Int = 300) -> Self {
        let refresh = refresh.map { ",\"refresh_token\":\"\($0)\"" } ?? ""
        return .answer(
            200, "{\"access_token\":\"\(access)\",\"token_type\":\"Bearer\",\"expires_in\":\(expiresIn)\(refresh)}")
    }

    /// What a server that asks for nonces says: 400 with the next one.
    static func nonce(_ nonce: String) -> Self {
        .success(
            TransportResponse(
                status: 400, fields: [("DPoP-Nonce", nonce)], body: Array(#"{"error":"use_dpop_nonce"}"#.utf8)))
    }

    static func refusal(_ error: String, status: Int = 400) -> Self {
        .answer(status, "{\"error\":\"\(error)\"}", requestID: "r-1")
    }
}
