import JOSE

extension Readers {
    /// A proof is either read as its own key signed it, for this endpoint and this minute, or refused.
    static func proof(_ octets: [UInt8]) throws -> Bool {
        let text = String(decoding: octets, as: UTF8.self)
        if let target = TargetURI(text) {
            try hold(TargetURI(target.description) == target, "a target is another one when written down")
            try hold(!target.description.contains { "?#".contains($0) }, "a target holds more than a target")
        }
        guard let here = TargetURI(ProofExample.target) else { throw Violation(description: "no target") }
        let times = ProofExample.issuedAt - 60...ProofExample.issuedAt + 30
        guard let proof = try? DPoPProof([text], method: "POST", target: here, times: times) else { return false }
        try hold(times.contains(proof.issuedAt), "a proof of another time")
        try hold((1...DPoPProof.longestTokenID).contains(proof.tokenID.utf8.count), "a proof with no jti to remember")
        let elsewhere = TargetURI("https://other.example/token") ?? here
        try hold(
            (try? DPoPProof([text], method: "POST", target: elsewhere, times: times)) == nil, "a proof for two targets")
        try hold((try? DPoPProof([text], method: "GET", target: here, times: times)) == nil, "a proof for two methods")
        // The fuzzer does not have the published private key, so only the signed octets are valid under it.
        if proof.keyThumbprint == ProofExample.thumbprint {
            try hold(text.utf8.starts(with: ProofExample.signed.utf8), "a forged proof")
        }
        return true
    }
}

/// RFC 9449 §4.1.
enum ProofExample {
    static let target = "https://server.example.com/token"
    static let issuedAt: Int64 = 1_562_262_616
    static let thumbprint = "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I"
    static let signed =
        "eyJ0eXAiOiJkcG9wK2p3dCIsImFsZyI6IkVTMjU2IiwiandrIjp7Imt0eSI6IkVDIiwieCI6Imw4dEZyaHgtMzR0VjNoUklDUkRZOXpDa0RscEJo"
        + "RjQyVVFVZldWQVdCRnMiLCJ5IjoiOVZFNGpmX09rX282NHpiVFRsY3VOSmFqSG10NnY5VERWclUwQ2R2R1JEQSIsImNydiI6IlAtMjU2In19.ey"
        + "JqdGkiOiItQndDM0VTYzZhY2MybFRjIiwiaHRtIjoiUE9TVCIsImh0dSI6Imh0dHBzOi8vc2VydmVyLmV4YW1wbGUuY29tL3Rva2VuIiwiaWF0I"
        + "joxNTYyMjYyNjE2fQ."
}
