import CLibPQ

/// Connection parameters as libpq reads them.
enum ConnectionURI {
    /// The parameters that a URI (or keyword string) sets; `nil` if libpq does not understand it.
    static func parse(_ text: String) -> [String: String]? {
        guard !text.utf8.contains(0) else { return nil }
        var complaint: UnsafeMutablePointer<CChar>?
        let list = unsafe PQconninfoParse(text, &complaint)
        unsafe PQfreemem(complaint)  // it may quote the text, and the text may hold a password
        guard let list = unsafe list else { return nil }
        defer { unsafe PQconninfoFree(list) }
        var parameters: [String: String] = [:]
        var option = unsafe list
        while let keyword = unsafe option.pointee.keyword {
            if let value = unsafe option.pointee.val {
                unsafe parameters[String(cString: keyword)] = String(cString: value)
            }
            unsafe option += 1
        }
        return parameters
    }
}

/// One server of a multi-host URI. libpq would try them in turn too, but only its blocking call has a time limit each.
struct ServerAddress: Sendable, Hashable, CustomStringConvertible {
    let host: String?
    let numericAddress: String?
    let port: String?

    var description: String { "\(host ?? numericAddress ?? "local socket")\(port.map { ":" + $0 } ?? "")" }

    static func all(in parameters: [String: String]) -> [ServerAddress] {
        let hosts = list(parameters["host"]), addresses = list(parameters["hostaddr"]), ports = list(parameters["port"])
        return (0..<max(hosts.count, addresses.count, 1)).map { index in
            ServerAddress(
                host: index < hosts.count ? hosts[index] : nil,
                numericAddress: index < addresses.count ? addresses[index] : nil,
                port: ports.count == 1 ? ports[0] : index < ports.count ? ports[index] : nil)
        }
    }

    /// An element that is left empty means libpq's default.
    private static func list(_ value: String?) -> [String?] {
        guard let value, !value.isEmpty else { return [] }
        return value.split(separator: ",", omittingEmptySubsequences: false).map { $0.isEmpty ? nil : String($0) }
    }
}
