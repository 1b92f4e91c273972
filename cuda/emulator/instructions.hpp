// What instructions do to a thread and to memory.
//
// In: functions as text. Out: functions that a thread can carry out, an act for each instruction. Every access to memory that the
// program has allocated is checked.
#pragma once
#include "arithmetic.hpp"
#include "machine.hpp"

namespace ptx {

// The functions of a module, ready to be carried out.
class Program {
  public:
    Program(const std::string &text, Memory &memory) : module(Reader(text).module()), memory(memory) {
        for (auto &[name, variable] : module.variables) {
            auto bytes = std::make_unique<uint64_t[]>(variable.bytes / 8 + 1);
            memcpy(bytes.get(), variable.initial.data(), variable.initial.size());
            memory.add(bytes.get(), variable.bytes);
            variables[name] = std::move(bytes);
        }
        for (const auto &[name, function] : module.functions) codes[name].function = &function;
        for (auto &[name, code] : codes) {
            for (const auto &[own, variable] : code.function->own) {
                code.places[own] = code.own_bytes;
                code.own_bytes += (variable.bytes + 15) / 16 * 16;
            }
        }
    }

    const std::map<std::string, Variable> &shared() const { return module.shared; }

    const Code *find(const std::string &name) {
        auto found = codes.find(name);
        if (found == codes.end()) return nullptr;
        if (found->second.acts.empty()) make(found->second);
        return &found->second;
    }

  private:
    using Get = std::function<uint64_t(Thread &)>;

    void make(Code &code) {
        for (const Statement &statement : code.function->body) {
            code.guards.push_back(statement.guard);
            code.inverted.push_back(statement.guard_inverted);
            code.acts.push_back(act(*code.function, statement));
        }
        code.guards.push_back(-1);
        code.inverted.push_back(false);
        code.acts.push_back(returned);
    }

    static void returned(Thread &thread) {
        const Frame done = std::move(thread.frames.back());
        thread.frames.pop_back();
        if (thread.frames.empty()) {
            --thread.block->running;
            thread.block->release();
            return;
        }
        const Function &function = *done.code->function;
        for (size_t k = 0; k < function.results.size(); ++k)
            memcpy(thread.frame().place(done.call->results[k]), done.place(function.results[k]),
                   function.own.at(function.results[k]).bytes);
    }

    Act call(const Statement &statement) {
        const Statement *at = &statement;
        return [this, at](Thread &thread) {
            const Code *callee = find(at->callee);
            if (!callee) throw Unknown("the function `" + at->callee + "`");
            Frame frame(*callee);
            frame.call = at;
            const Function &function = *callee->function;
            for (size_t k = 0; k < function.parameters.size(); ++k)
                memcpy(frame.place(function.parameters[k]), thread.frame().place(at->arguments[k]),
                       function.own.at(function.parameters[k]).bytes);
            thread.frames.push_back(std::move(frame));
        };
    }

    // ---- Operands ----

    Get get(const Function &function, const Operand &operand) {
        switch (operand.kind) {
        case Operand::REGISTER: return [place = operand.number](Thread &thread) { return thread.at(place); };
        case Operand::NUMBER: return [number = operand.number](Thread &) { return number; };
        case Operand::NAME: return named(function, operand.name);
        case Operand::ADDRESS:
        case Operand::LIST: break;
        }
        throw Unknown("an operand that is no number");
    }

    Get named(const Function &function, const std::string &name) {
        if (name == "%tid.x") return [](Thread &thread) { return thread.number; };
        if (name == "%ntid.x") return [](Thread &thread) { return thread.threads; };
        if (name == "%ctaid.x") return [](Thread &thread) { return thread.block->number; };
        if (name == "%nctaid.x") return [](Thread &thread) { return thread.blocks; };
        if (name == "%laneid") return [](Thread &thread) { return thread.number % 32; };
        if (name == "%clock64") return [](Thread &) { return instructions(); };
        if (auto found = variables.find(name); found != variables.end())
            return [at = (uint64_t)found->second.get()](Thread &) { return at; };
        if (module.shared.count(name)) return [name](Thread &thread) { return (uint64_t)thread.block->shared.at(name).at(); };
        if (function.own.count(name)) {
            const size_t place = codes.at(function.name).places.at(name);
            return [place](Thread &thread) { return (uint64_t)thread.frame().own.get() + place; };
        }
        throw Unknown("the name `" + name + "`");
    }

    Get address(const Function &function, const Operand &operand) {
        Operand base;
        base.kind = Operand::NAME;
        base.name = operand.name;
        Get begin = get(function, operand.parts.empty() ? base : operand.parts[0]);
        return [begin, more = operand.number](Thread &thread) { return begin(thread) + more; };
    }

    static std::vector<Operand> parts(const Operand &operand) {
        return operand.kind == Operand::LIST ? operand.parts : std::vector<Operand>{operand};
    }

    // ---- Instructions ----

    Act act(const Function &function, const Statement &statement) {
        const std::vector<std::string> &words = statement.words;
        const std::string &what = words[0], &type = words.back();
        const auto has = [&](const char *word) { return std::find(words.begin(), words.end(), word) != words.end(); };
        if (what == "call") return call(statement);
        if (what == "ret" || what == "exit") return returned;
        if (what == "bra") return jump(function, statement);
        if (what == "ld") return load(function, statement);
        if (what == "st") return store(function, statement);
        if (what == "multimem") return has("st") ? store_to_all(function, statement) : reduce(function, statement);
        if (what == "atom" || what == "red") return atomic(function, statement);
        // Instructions are carried out one after the other, so all is in order.
        if ((what == "fence" && !has("proxy")) || what == "membar")
            return [this](Thread &thread) {
                if (memory.races.watched) memory.races.fence(thread.knowledge);
            };
        if (what == "fence" && has("alias"))
            return [this](Thread &thread) {
                if (memory.races.watched) memory.races.fence_proxies(thread.knowledge);
            };
        if (what == "nanosleep") return [](Thread &thread) { thread.yields = true; };
        if (what == "bar" || what == "barrier") {
            if (!has("sync") || statement.operands.size() != 1) return unknown(statement);
            return [](Thread &thread) {
                thread.waits = true;
                ++thread.block->waiting;
                thread.block->release();
            };
        }
        if (what == "trap") return [](Thread &) { throw std::runtime_error("`trap`"); };
        if (what == "mov" || what == "cvta") return move(function, statement);
        if (what == "cvt") {
            const Type from = Type::of(type), to = Type::of(words[words.size() - 2]);
            if (has("sat") || has("rz") || has("bf16x2") || has("f16x2")) return unknown(statement);
            const Get value = get(function, statement.operands[1]);
            return [=, place = statement.operands[0].number](Thread &thread) {
                thread.at(place) = converted(to, from, value(thread));
            };
        }
        if (what == "bfi") return insert(function, statement);
        return compute(function, statement);
    }

    // Some bits of a number, put into another one.
    Act insert(const Function &function, const Statement &statement) {
        const Type type = Type::of(statement.words.back());
        std::vector<Get> values;
        for (size_t k = 1; k < 5; ++k) values.push_back(get(function, statement.operands.at(k)));
        return [=, place = statement.operands[0].number](Thread &thread) {
            const uint64_t from = values[2](thread) & 255, count = values[3](thread) & 255;
            const uint64_t ones = count == 0 || from >= type.bits ? 0 : ~0ull >> (64 - std::min<uint64_t>(count, 64)) << from;
            thread.at(place) = type.narrowed((values[1](thread) & ~ones) | (values[0](thread) << (from & 63) & ones));
        };
    }

    Act unknown(const Statement &statement) {
        // It is only wrong to carry it out.
        return [text = statement.text](Thread &) { throw Unknown("the instruction `" + text + "`"); };
    }

    Act jump(const Function &function, const Statement &statement) {
        const size_t to = function.labels.at(statement.operands[0].name);
        return [to](Thread &thread) { thread.frame().at = to; };
    }

    Act move(const Function &function, const Statement &statement) {
        const Type type = Type::of(statement.words.back());
        const std::vector<Operand> to = parts(statement.operands[0]), from = parts(statement.operands[1]);
        std::vector<Get> values;
        for (const Operand &part : from) values.push_back(get(function, part));
        const unsigned each_from = type.bits / values.size(), each_to = type.bits / to.size();
        if (to.size() == 1 && values.size() == 1)
            return [=, value = values[0], place = to[0].number](Thread &thread) {
                thread.at(place) = type.narrowed(value(thread));
            };
        return [=](Thread &thread) {
            uint64_t all = 0;
            for (size_t k = 0; k < values.size(); ++k) all |= values[k](thread) << each_from * k;
            for (size_t k = 0; k < to.size(); ++k)
                if (to[k].kind == Operand::REGISTER) thread.at(to[k].number) = all >> each_to * k & (~0ull >> (64 - each_to));
        };
    }

    Act compute(const Function &function, const Statement &statement) {
        std::vector<std::string> words;
        for (const std::string &word : statement.words)
            if (word != "rn" && word != "relu") words.push_back(word);
        const std::string type = words.back();
        const bool is_pair = type == "f16x2" || type == "bf16x2";
        if (is_pair) words.back().resize(type.size() - 2);
        std::string name;
        for (const std::string &word : words) name += (name.empty() ? "" : ".") + word;
        const auto found = computes().find(name);
        if (found == computes().end() || statement.operands.size() < 2) return unknown(statement);
        std::vector<Get> values;
        for (size_t k = 1; k < statement.operands.size(); ++k) values.push_back(get(function, statement.operands[k]));
        while (values.size() < 3) values.push_back([](Thread &) { return 0; });
        const Type kind = Type::of(words.back());  // numbers in the text may have a sign above it
        const Compute of = found->second;
        const Operand to = statement.operands[0];
        if (to.kind != Operand::REGISTER) return unknown(statement);
        if (is_pair)
            return [=](Thread &thread) {
                const uint64_t a = values[0](thread), b = values[1](thread), c = values[2](thread);
                thread.at(to.number) = of(a & 0xffff, b & 0xffff, c & 0xffff) | of(a >> 16 & 0xffff, b >> 16 & 0xffff, c >> 16 & 0xffff) << 16;
            };
        return [=](Thread &thread) {
            const uint64_t a = kind.narrowed(values[0](thread)), b = kind.narrowed(values[1](thread));
            thread.at(to.number) = of(a, b, values[2](thread));
        };
    }

    // ---- Memory ----

    // Parameters, and what is local to a thread or a block, are this process's own, and not checked. An instruction that does
    // not say where its memory is says so by the address.
    enum Space { GIVEN, OWN_MEMORY, BY_ADDRESS };
    static Space space(const Statement &statement) {
        for (const std::string &word : statement.words) {
            if (word == "global") return GIVEN;
            if (word == "param" || word == "local" || word == "shared" || word == "const") return OWN_MEMORY;
        }
        return BY_ADDRESS;
    }
    bool is_given(Space space, uint64_t at) const { return space == GIVEN || (space == BY_ADDRESS && memory.has(at)); }

    static Order order(const Statement &statement) {
        const auto has = [&](const char *word) {
            return std::find(statement.words.begin(), statement.words.end(), word) != statement.words.end();
        };
        if (has("acq_rel")) return BOTH;
        if (has("acquire")) return ACQUIRE;
        if (has("release")) return RELEASE;
        return has("relaxed") || has("volatile") ? RELAXED : WEAK;
    }

    Act load(const Function &function, const Statement &statement) {
        const std::vector<Operand> to = parts(statement.operands[0]);
        const Type type = Type::of(statement.words.back());
        const Type registered{'b', std::max(type.bits, 32u)};
        const Get at = address(function, statement.operands[1]);
        const size_t each = type.bits / 8, bytes = each * to.size();
        const Space where = space(statement);
        const Order strength = order(statement);
        return [=, by = &statement](Thread &thread) {
            const uint64_t from = at(thread);
            const bool given = is_given(where, from);
            if (given) memory.check(from, bytes, *by);
            if (given && memory.races.watched) memory.races.read(thread.knowledge, from, bytes, strength, by->text);
            for (size_t k = 0; k < to.size(); ++k) {
                uint64_t value = 0;
                memcpy(&value, (const char *)from + each * k, each);
                if (to[k].kind == Operand::REGISTER) thread.at(to[k].number) = registered.narrowed((uint64_t)type.widened(value));
            }
        };
    }

    Act store(const Function &function, const Statement &statement) {
        const size_t each = Type::of(statement.words.back()).bits / 8;
        const Get at = address(function, statement.operands[0]);
        std::vector<Get> values;
        for (const Operand &part : parts(statement.operands[1])) values.push_back(get(function, part));
        const Space where = space(statement);
        const Order strength = order(statement);
        return [=, by = &statement](Thread &thread) {
            const uint64_t to = at(thread);
            const bool given = is_given(where, to);
            if (given) memory.check(to, each * values.size(), *by);
            if (given && memory.races.watched)
                memory.races.write(thread.knowledge, to, each * values.size(), strength, by->text);
            for (size_t k = 0; k < values.size(); ++k) {
                const uint64_t value = values[k](thread);
                memcpy((char *)to + each * k, &value, each);
            }
        };
    }

    Act atomic(const Function &function, const Statement &statement) {
        const bool returns = statement.words[0] == "atom";
        const Type type = Type::of(statement.words.back());
        Compute of = nullptr;
        for (const std::string &word : statement.words)
            for (const char *op : {"add", "and", "or", "xor", "min", "max"})
                if (auto found = computes().find(word + "." + statement.words.back()); word == op && found != computes().end())
                    of = found->second;
        if (!of) return unknown(statement);
        const Get at = address(function, statement.operands[returns]), value = get(function, statement.operands[1 + returns]);
        const size_t bytes = type.bits / 8;
        const Order strength = std::max(order(statement), RELAXED);
        return [=, by = &statement, place = statement.operands[0].number](Thread &thread) {
            const uint64_t cell = at(thread);
            memory.check(cell, bytes, *by);
            if (memory.races.watched) memory.races.update(thread.knowledge, cell, bytes, strength, by->text);
            uint64_t before = 0;
            memcpy(&before, (const char *)cell, bytes);
            const uint64_t after = of(before, type.narrowed(value(thread)), 0);
            memcpy((char *)cell, &after, bytes);
            if (returns) thread.at(place) = before;
        };
    }

    // ---- Switches ----

    Act store_to_all(const Function &function, const Statement &statement) {
        const size_t each = Type::of(statement.words.back()).bits / 8;
        const Get at = address(function, statement.operands[0]);
        std::vector<Get> values;
        for (const Operand &part : parts(statement.operands[1])) values.push_back(get(function, part));
        return [=, by = &statement](Thread &thread) {
            for (uint64_t to : memory.members_of(at(thread), each * values.size(), *by)) {
                if (memory.races.watched) memory.races.write(thread.knowledge, to, each * values.size(), RELAXED, by->text, ALIAS);
                for (size_t k = 0; k < values.size(); ++k) {
                    const uint64_t value = values[k](thread);
                    memcpy((char *)to + each * k, &value, each);
                }
            }
        };
    }

    // Of floats of 16 bits, sums are formed in 32 and rounded once.
    Act reduce(const Function &function, const Statement &statement) {
        const std::vector<std::string> &words = statement.words;
        const auto has = [&](const char *word) { return std::find(words.begin(), words.end(), word) != words.end(); };
        const std::string op = has("add") ? "add" : has("min") ? "min" : "max", word = words.back();
        const bool is_pair = word.size() > 2 && word.compare(word.size() - 2, 2, "x2") == 0;
        const std::string element = is_pair ? word.substr(0, word.size() - 2) : word;
        const Type type = Type::of(element);
        const bool wide = has("acc::f32");
        const auto found = computes().find(op + "." + (wide ? "f32" : element));
        // Sums need a word of their own for how they are rounded, and only integers have no vectors.
        if (found == computes().end() || (is_pair && op == "add" && !wide) || has("v4") != type.is_float()) return unknown(statement);
        const std::vector<Operand> to = parts(statement.operands[0]);
        const Get at = address(function, statement.operands[1]);
        const size_t each = type.bits / 8, per = is_pair ? 2 : 1, count = to.size() * per;
        const Type sum = wide ? Type{'f', 32} : type;
        return [=, by = &statement, of = found->second](Thread &thread) {
            const std::vector<uint64_t> members = memory.members_of(at(thread), each * count, *by);
            for (uint64_t from : members)
                if (memory.races.watched) memory.races.read(thread.knowledge, from, each * count, RELAXED, by->text, ALIAS);
            for (size_t k = 0; k < to.size(); ++k) thread.at(to[k].number) = 0;
            for (size_t k = 0; k < count; ++k) {
                uint64_t all = 0;
                for (size_t m = 0; m < members.size(); ++m) {
                    uint64_t one = 0;
                    memcpy(&one, (const char *)members[m] + each * k, each);
                    if (wide) one = converted(sum, type, one);
                    all = m == 0 ? one : of(all, one, 0);
                }
                if (wide) all = converted(type, sum, all);
                thread.at(to[k / per].number) |= all << type.bits * (k % per);
            }
        };
    }

    Module module;
    Memory &memory;
    std::map<std::string, std::unique_ptr<uint64_t[]>> variables;
    std::map<std::string, Code> codes;
};

}  // namespace ptx
