import StrictCoding

/// All figures of one run, and what they were taken on.
struct Report {
    let machine: Machine
    /// Settings of PostgreSQL by name, and its version.
    let postgresql: [(name: String, value: String)]
    /// The commit of the sources, as given by the caller.
    let commit: String?
    let options: LoadOptions
    var sections: [Section] = []
    var seconds = 0.0

    var wrongAnswers: Int64 { sections.reduce(0) { $0 + $1.wrongAnswers } }

    var json: String {
        var json = JSONWriter(reservingCapacity: 1 << 16)
        json.object { json in
            json.member("format", "native-sso-bench 2")
            if let commit { json.member("commit", commit) }
            json.member(
                "machine",
                object: { json in
                    json.member("processor", machine.processor)
                    json.member("processors", Int64(machine.processors))
                    json.member("memory_mib", machine.memoryMiB)
                    json.member("kernel", machine.kernel)
                })
            json.member(
                "postgresql",
                object: { json in for setting in postgresql { json.member(setting.name, setting.value) } })
            json.member("rounds", Int64(options.rounds))
            json.decimal("seconds_per_measurement", options.seconds)
            for section in sections { section.write(to: &json) }
            json.decimal("run_seconds", seconds)
        }
        return String(decoding: json.bytes, as: UTF8.self)
    }

    var table: String {
        let fsync = postgresql.first { $0.name == "fsync" }?.value ?? ""
        let version = postgresql.first { $0.name == "server_version" }?.value ?? ""
        return """
            \(machine.processor), \(machine.processors) processors, Linux \(machine.kernel), PostgreSQL \(version), fsync \
            \(fsync); medians of \(options.rounds) rounds

            """ + sections.map(\.table).joined()
    }
}
